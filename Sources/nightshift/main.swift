import CLI
import Foundation

exit(await Program.run(.ofThisProcess()).rawValue)
