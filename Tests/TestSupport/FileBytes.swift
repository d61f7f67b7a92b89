import Foundation

/// All bytes of a file.
package func fileBytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
}

extension [UInt8] {
    /// As fields carry bytes.
    package var base64: String { Data(self).base64EncodedString() }
}
