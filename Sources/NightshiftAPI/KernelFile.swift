import Foundation

/// A reader for files whose content the kernel generates on each read: those of /proc, /sys and cgroups.
package enum KernelFile {
    /// The whole text of a file; nil if it cannot be read.
    ///
    /// The size of such a file is reported as 0, and each read returns at most one page. `String(contentsOfFile:)` and
    /// `Data(contentsOf:)` stop after the first read, so long tables would be truncated.
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
