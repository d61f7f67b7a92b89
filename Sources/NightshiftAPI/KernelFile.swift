import Foundation

/// Reads files that the kernel writes as they are read: those of /proc, of /sys and of cgroups.
package enum KernelFile {
    /// The whole text of a file; nil where it cannot be read.
    ///
    /// The size of such a file says 0, and each read brings a page at most. `String(contentsOfFile:)` and `Data(contentsOf:)` stop
    /// after the first read, so that long tables lack their end.
    package static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece[..<count]
        }
    }
}
