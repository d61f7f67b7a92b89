import Foundation

/// Returns the bytes of a file. Files of /proc, whose reported size is 0, are read to their end: `Data(contentsOf:)`
/// stops at a short read.
package func fileBytes(_ path: String) throws -> [UInt8] {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? file.close() }
    return [UInt8](try file.readToEnd() ?? Data())
}

extension [UInt8] {
    /// The base64 form in which header fields carry bytes.
    package var base64: String { Data(self).base64EncodedString() }
}
