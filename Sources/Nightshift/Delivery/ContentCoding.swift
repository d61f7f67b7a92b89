import CNightshift
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A coding in which a server has sent a body although none was asked for: apps are given what is in it, as on Apple's systems.
///
/// The service keeps the bytes as they came, which is what ranges and validators are about.
enum ContentCoding {
    /// The coding of a response whose body is to be decoded; nil for others, and for what is a compressed file itself, whose coding many
    /// servers tell twice.
    static func coding(of response: ResponseSummary?, url: String) -> String? {
        let coding = response?.headers.all("Content-Encoding").last?.lowercased().trimmingCharacters(in: .whitespaces)
        guard let headers = response?.headers, let coding, ["gzip", "x-gzip", "deflate"].contains(coding) else {
            return nil
        }
        let type = headers.first("Content-Type")?.lowercased().prefix { $0 != ";" } ?? ""
        guard !compressed.contains(where: { type.contains($0) }) else { return nil }
        let path = URL(string: url)?.path(percentEncoded: false).lowercased() ?? ""
        return path.hasSuffix(".gz") || path.hasSuffix(".tgz") ? nil : coding
    }

    private static let compressed = ["gzip", "tgz", "x-compressed-tar"]

    /// More than what is worth packing shrinks by: a file that swells by more is made to fill disks, and room for it is not waited for.
    private static let mostSwelling: Int64 = 100

    /// Writes the decoded bytes of one file to another; false where they are in no such coding, or not whole.
    ///
    /// - Throws: `EFBIG` where there is no room and there need never be enough; `ENOSPC` or `EDQUOT` where making room helps.
    static func decode(_ file: String, to new: String, mayBeBare: Bool) throws -> Bool {
        let source = open(file, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(source) }
        let target = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard target >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(target) }
        let result = nightshift_inflate(source, target, mayBeBare ? 1 : 0)
        if result == 0 { return true }
        var code = errno
        let (packed, written) = (Int64(lseek(source, 0, SEEK_END)), Int64(lseek(target, 0, SEEK_CUR)))
        if code == ENOSPC || code == EDQUOT, packed >= 0, written / mostSwelling > packed { code = EFBIG }
        unlink(new)
        if result == -1 { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        return false
    }
}
