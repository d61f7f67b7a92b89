import CDigest
import CNightshift
import Glibc
import NightshiftAPI

/// A file with the decoded bytes of another file.
struct DecodedFile {
    var file: CreatedFile
    var size: Int64
    /// The digest of the decoded bytes; nil without an algorithm.
    var digest: String?

    /// Decodes a file. Blocks.
    ///
    /// - Parameters:
    ///   - place: the path for the decoded bytes.
    ///   - algorithm: the algorithm of ``digest``.
    /// - Returns: nil if the bytes are not in this coding, or would grow by more than ``ContentCoding/allows(_:of:)``.
    /// - Throws: ``TransferFailure/Code/cancelled`` if `isCancelled` ended the decoding, or a failure of the disk.
    static func make(
        _ source: Int32, _ coding: ContentCoding, at place: () -> String, _ algorithm: Checksum.Algorithm?,
        _ isCancelled: () -> Bool
    ) throws(TransferFailure) -> DecodedFile? {
        let context = try algorithm.map { algorithm throws(TransferFailure) in try Verification.context(algorithm) }
        defer { if let context { nightshift_digest_free(context) } }
        let coded = Int64(lseek(source, 0, SEEK_END))
        lseek(source, 0, SEEK_SET)
        let file = try PartialStorage.create(place(), total: nil).get()
        var decoded = DecodedFile(file: file, size: 0)
        let outcome = withoutActuallyEscaping(isCancelled) { isCancelled in
            var progress = Progress(coded: coded, context: context, isCancelled: isCancelled)
            let result = withUnsafeMutablePointer(to: &progress) { progress in
                nightshift_inflate(
                    source, file.descriptor, coding == .deflate ? 1 : 0,
                    { piece, count, end, progress in
                        progress?.assumingMemoryBound(to: Progress.self).pointee.take(piece, count, end) ?? false
                    }, progress)
            }
            let number = errno
            decoded.size = progress.size
            return (result: result, number: number, wasCancelled: progress.wasCancelled)
        }
        if outcome.result == 0 {
            decoded.digest = context.map(Verification.digest)
            return decoded
        }
        decoded.discard()
        if outcome.result == -1 { throw DiskTrouble.failure(outcome.number, "decompress the file") }
        if outcome.wasCancelled { throw TransferFailure(.cancelled, "The service is stopping.") }
        return nil
    }

    func discard() {
        close(file.descriptor)
        unlink(file.path)
    }

    private struct Progress {
        let coded: Int64
        let context: OpaquePointer?
        let isCancelled: () -> Bool
        var size: Int64 = 0
        var wasCancelled = false

        mutating func take(_ piece: UnsafeRawPointer?, _ count: Int, _ end: Int64) -> Bool {
            // The first piece is repeated if the format turns out to be another one.
            if Int64(count) == end, let context { _ = nightshift_digest_restart(context) }
            if let context { _ = nightshift_digest_update(context, piece, count) }
            size = end
            wasCancelled = isCancelled()
            return !wasCancelled && ContentCoding.allows(end, of: coded)
        }
    }
}
