import CNightshift
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A decoder for bodies that a server has sent with a content coding although the request named none. Apps receive the
/// decoded content, as on Apple's systems.
///
/// The service stores the bytes of an app's tasks as received, because ranges and validators refer to those bytes. The
/// library therefore decodes the content.
enum ContentDecoder {
    /// Writes the decoded bytes of one file to another. Returns false if the file does not have this coding, or is
    /// incomplete.
    ///
    /// - Parameter mayContinue: A closure that is called before each piece. If the closure returns false, decoding is
    ///   cancelled.
    /// - Throws: `EFBIG` if the output would exceed ``ContentCoding/allows(_:of:)``. `ECANCELED` if `mayContinue`
    ///   returned false. `ENOSPC` or `EDQUOT` if decoding may succeed after disk space is freed.
    static func decode(
        _ file: String, to new: String, _ coding: ContentCoding, while mayContinue: @escaping () -> Bool
    ) throws -> Bool {
        let source = open(file, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(source) }
        let target = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard target >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(target) }
        let coded = Int64(lseek(source, 0, SEEK_END))
        lseek(source, 0, SEEK_SET)
        var stop = Stop(mayContinue: mayContinue, coded: coded)
        let result = withUnsafeMutablePointer(to: &stop) { stop in
            nightshift_inflate(
                source, target, coding == .deflate ? 1 : 0,
                { _, _, end, context in context?.assumingMemoryBound(to: Stop.self).pointee.allows(end) ?? false },
                stop)
        }
        if result == 0 { return true }
        let code = result == -3 ? stop.code ?? ECANCELED : errno
        unlink(new)
        guard result != -2 else { return false }
        throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }

    private struct Stop {
        var mayContinue: () -> Bool
        var coded: Int64
        var code: Int32?

        mutating func allows(_ written: Int64) -> Bool {
            if !mayContinue() { code = ECANCELED } else if !ContentCoding.allows(written, of: coded) { code = EFBIG }
            return code == nil
        }
    }
}
