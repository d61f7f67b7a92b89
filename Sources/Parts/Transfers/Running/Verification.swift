import CDigest
import Foundation
import Glibc
import NightshiftAPI
import Store

/// The comparison of a whole file with requested and announced digests, and the decoding of files with a content
/// coding.
enum Verification {
    struct Finding: Sendable {
        var names: [String]
        /// The decoded bytes and their count; nil if the file stays as it was received.
        var decoded: (file: CreatedFile, size: Int64)?
    }

    /// Verifies the file, and decodes it if needed. Reads the file once, from the page cache if possible. Blocks until
    /// it has finished.
    ///
    /// Digests that the server announced apply to the bytes as received (RFC 9530, section 3). A requested digest may
    /// also apply to the decoded bytes. The file that matches the requested digest is delivered.
    ///
    /// - Parameters:
    ///   - coding: the coding to remove, and the path for the decoded bytes.
    /// - Returns: the digests that matched, or the failure; ``TransferFailure/Code/cancelled`` if `isCancelled` ended
    ///   the work.
    static func verify(
        descriptor: Int32, asked: Checksum?, announced: [Checksum],
        coding: (ContentCoding, place: () -> String)? = nil, isCancelled: () -> Bool
    ) -> Result<Finding, TransferFailure> {
        let expectations = announced + (asked.map { [$0] } ?? [])
        let algorithms = Set(expectations.map(\.algorithm))
        let names = algorithms.map(\.rawValue).sorted()
        do throws(TransferFailure) {
            let digests = expectations.isEmpty ? [:] : try hash(descriptor, algorithms, isCancelled).get()
            for checksum in announced where digests[checksum.algorithm] != checksum.hex {
                throw mismatch(digests, checksum, "the server announced")
            }
            let isAsked = asked.map { digests[$0.algorithm] == $0.hex }
            guard let (coding, place) = coding, isAsked != true else {
                if let asked, isAsked == false { throw mismatch(digests, asked, "the request specified") }
                return .success(Finding(names: names))
            }
            let decoded = try DecodedFile.make(descriptor, coding, at: place, asked?.algorithm, isCancelled)
            if let asked, decoded?.digest != asked.hex {
                decoded?.discard()
                throw mismatch(digests, asked, "the request specified")
            }
            return .success(Finding(names: names, decoded: decoded.map { ($0.file, $0.size) }))
        } catch {
            return .failure(error)
        }
    }

    private static func mismatch(
        _ digests: [Checksum.Algorithm: String], _ checksum: Checksum, _ origin: String
    ) -> TransferFailure {
        TransferFailure(
            .checksumMismatch,
            "The file's \(checksum.algorithm.rawValue) is \(digests[checksum.algorithm] ?? "unknown"), but "
                + "\(origin) \(checksum.hex)."
        )
    }

    private static func hash(
        _ descriptor: Int32, _ algorithms: Set<Checksum.Algorithm>, _ isCancelled: () -> Bool
    ) -> Result<[Checksum.Algorithm: String], TransferFailure> {
        var contexts: [Checksum.Algorithm: OpaquePointer] = [:]
        defer { contexts.values.forEach(nightshift_digest_free) }
        for algorithm in algorithms {
            do throws(TransferFailure) {
                contexts[algorithm] = try context(algorithm)
            } catch {
                return .failure(error)
            }
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4_096)
        defer { buffer.deallocate() }
        var offset: off_t = 0
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, offset)
            guard count >= 0 else {
                if errno == EINTR { continue }
                return .failure(DiskTrouble.failure(errno, "read the file back"))
            }
            if count == 0 { break }
            if isCancelled() { return .failure(TransferFailure(.cancelled, "The service is stopping.")) }
            for context in contexts.values { _ = nightshift_digest_update(context, buffer.baseAddress, count) }
            offset += off_t(count)
        }
        return .success(contexts.mapValues(digest))
    }

    /// Returns a context of libcrypto, which the caller must free.
    static func context(_ algorithm: Checksum.Algorithm) throws(TransferFailure) -> OpaquePointer {
        guard let context = nightshift_digest_new(algorithm.libcryptoName) else {
            throw TransferFailure(.inputOutput, "This system's libcrypto does not offer \(algorithm.rawValue).")
        }
        return context
    }

    /// Returns the SHA-256 of bytes in memory, in lower-case hexadecimal digits; nil if libcrypto does not offer it.
    static func sha256(_ bytes: some ContiguousBytes) -> String? {
        guard let context = nightshift_digest_new(Checksum.Algorithm.sha256.libcryptoName) else { return nil }
        defer { nightshift_digest_free(context) }
        _ = bytes.withUnsafeBytes { nightshift_digest_update(context, $0.baseAddress, $0.count) }
        return digest(context)
    }

    /// Returns the digest in lower-case hexadecimal digits.
    static func digest(_ context: OpaquePointer) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { output in
            let length = nightshift_digest_finish(context, output.baseAddress)
            let digits = Array("0123456789abcdef".utf8)
            let text = output.prefix(length).reduce(into: [UInt8]()) {
                $0.append(digits[Int($1 >> 4)])
                $0.append(digits[Int($1 & 15)])
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
}

extension Verification.Finding {
    /// Returns the file to publish.
    ///
    /// - Parameter bootID: the boot in which the decoded bytes were written.
    func file(bootID: String) -> VerifiedFile {
        VerifiedFile(
            names: names,
            decoded: decoded.map { decoded in
                var partial = PartialFile(path: decoded.file.path, bootID: bootID)
                partial.total = decoded.size
                partial.inode = decoded.file.inode
                partial.device = decoded.file.device
                partial.owner = decoded.file.owner
                // No server has the decoded bytes, so a later request cannot continue from them.
                partial.condition = RangeCondition.unusable.rawValue
                partial.lossReason = "the bytes on disk were decompressed"
                return partial
            })
    }
}

extension TransferFailure {
    /// Whether ``Verification`` was cancelled, which says nothing about the file.
    var isStopOfVerification: Bool { code == .cancelled }
}

extension Checksum.Algorithm {
    fileprivate var libcryptoName: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }
}
