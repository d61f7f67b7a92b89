import Foundation
import NightshiftAPI

/// Writes results where their user wants them.
extension Invocation {
    /// - Parameter file: an absolute path.
    func write(_ data: Data, to file: String, options: Data.WritingOptions = .atomic) throws {
        try DestinationCheck.requireDirectory(
            URL(filePath: file).deletingLastPathComponent().path(percentEncoded: false))
        do {
            try data.write(to: URL(filePath: file), options: options)
        } catch {
            throw CommandFailure.failed("\(file) could not be written: \(error.systemReason).")
        }
    }
}
