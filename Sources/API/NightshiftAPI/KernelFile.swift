import Foundation

/// A reader for the files of /proc, /sys and cgroups, whose content the kernel generates on each read.
package enum KernelFile {
    /// Returns the whole text of a file; nil if it cannot be read.
    ///
    /// The kernel reports the size of such a file as 0, and each read returns at most one page.
    /// `String(contentsOfFile:)` and `Data(contentsOf:)` stop after the first read, so they would truncate long tables.
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
