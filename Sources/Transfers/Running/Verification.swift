import CDigest
import Foundation
import Glibc
import NightshiftAPI

/// Compares a whole file with the digests that were asked for or announced.
enum Verification {
    /// Reads the file once, from the page cache where it is still there, and blocks meanwhile.
    ///
    /// - Returns: the names of the digests that were right, or what is wrong; ``TransferFailure/Code/cancelled`` where
    ///   `isCancelled` ended it.
    static func verify(
        descriptor: Int32, asked: Checksum?, announced: [Checksum], isCancelled: () -> Bool
    ) -> Result<[String], TransferFailure> {
        var expectations = announced.map { (checksum: $0, origin: "the server announced") }
        if let asked { expectations.append((asked, "was asked for")) }
        guard !expectations.isEmpty else { return .success([]) }
        let algorithms = Set(expectations.map(\.checksum.algorithm))
        let digests: [Checksum.Algorithm: String]
        switch hash(descriptor, algorithms, isCancelled) {
        case .failure(let failure): return .failure(failure)
        case .success(let found): digests = found
        }
        for (checksum, origin) in expectations where digests[checksum.algorithm] != checksum.hex {
            return .failure(
                TransferFailure(
                    .checksumMismatch,
                    "The file's \(checksum.algorithm.rawValue) is \(digests[checksum.algorithm] ?? "unknown"), and \(checksum.hex) \(origin)."
                ))
        }
        return .success(algorithms.map(\.rawValue).sorted())
    }

    private static func hash(
        _ descriptor: Int32, _ algorithms: Set<Checksum.Algorithm>, _ isCancelled: () -> Bool
    ) -> Result<[Checksum.Algorithm: String], TransferFailure> {
        var contexts: [Checksum.Algorithm: OpaquePointer] = [:]
        defer { contexts.values.forEach(nightshift_digest_free) }
        for algorithm in algorithms {
            guard let context = nightshift_digest_new(algorithm.libcryptoName) else {
                return .failure(
                    TransferFailure(.inputOutput, "This system's libcrypto does not offer \(algorithm.rawValue)."))
            }
            contexts[algorithm] = context
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
            if isCancelled() { return .failure(TransferFailure(.cancelled, "The service stops.")) }
            for context in contexts.values { _ = nightshift_digest_update(context, buffer.baseAddress, count) }
            offset += off_t(count)
        }
        return .success(contexts.mapValues(finish))
    }

    /// The SHA-256 of bytes in memory, in lower-case hexadecimal digits; nil where libcrypto does not offer it.
    static func sha256(_ bytes: some ContiguousBytes) -> String? {
        guard let context = nightshift_digest_new(Checksum.Algorithm.sha256.libcryptoName) else { return nil }
        defer { nightshift_digest_free(context) }
        _ = bytes.withUnsafeBytes { nightshift_digest_update(context, $0.baseAddress, $0.count) }
        return finish(context)
    }

    private static func finish(_ context: OpaquePointer) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { output in
            let length = nightshift_digest_finish(context, output.baseAddress)
            return output.prefix(length).map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0\(digits)" : digits
            }.joined()
        }
    }
}

extension TransferFailure {
    /// Whether ``Verification`` was told to stop, which says nothing of the file.
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
