import CLI
import CNightshift
import Foundation

nightshift_open_standard_descriptors()
exit(await CommandLineProgram.run(.ofThisProcess()).rawValue)
