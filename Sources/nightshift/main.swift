import CLI
import CNightshift
import Foundation

nightshift_open_standard_descriptors()
exit(await Program.run(.ofThisProcess()).rawValue)
