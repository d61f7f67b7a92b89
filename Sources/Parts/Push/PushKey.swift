import CDigest
package import Foundation

/// The Ed25519 key with which this device proves its identity to a gateway. It is created on the device, and never
/// sent.
package struct PushKey: Hashable, Sendable {
    private let bytes: [UInt8]

    /// An error of a key, with its `errno`; 0 if no system call failed.
    package struct Failure: Error, CustomStringConvertible {
        package var step: String
        package var code: Int32

        package var description: String {
            let reason = code == 0 ? "" : ": \(String(cString: strerror(code)))"
            return "The device's key cannot be used: \(step)\(reason)."
        }
    }

    private static let keyBytes = Int(NIGHTSHIFT_ED25519_KEY)

    /// Creates a new key.
    package static func make() throws(Failure) -> PushKey {
        var secret = [UInt8](repeating: 0, count: keyBytes)
        var open = secret
        guard nightshift_ed25519_generate(&secret, &open) == 1 else {
            throw Failure(step: "libcrypto could not create a key", code: 0)
        }
        return PushKey(bytes: secret)
    }

    package init?(secret: [UInt8]) {
        guard secret.count == Self.keyBytes else { return nil }
        bytes = secret
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the public key, which is sent to the gateway.
    package func publicKey() throws(Failure) -> [UInt8] {
        var open = [UInt8](repeating: 0, count: Self.keyBytes)
        guard nightshift_ed25519_public(bytes, &open) == 1 else {
            throw Failure(step: "it is not a valid Ed25519 key", code: 0)
        }
        return open
    }

    package func sign(_ message: [UInt8]) throws(Failure) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Int(NIGHTSHIFT_ED25519_SIGNATURE))
        guard nightshift_ed25519_sign(bytes, message, message.count, &signature) == 1 else {
            throw Failure(step: "libcrypto cannot sign with it", code: 0)
        }
        return signature
    }

    // MARK: - The file

    /// Reads the key from a file that ``write(to:)`` has written.
    package static func read(_ file: URL) throws(Failure) -> PushKey {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Failure(step: "cannot open \(file.path)", code: errno) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: keyBytes + 1)
        let count = Foundation.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw Failure(step: "cannot read \(file.path)", code: errno) }
        guard count == keyBytes else { throw Failure(step: "\(file.path) does not contain a key", code: 0) }
        return PushKey(bytes: Array(bytes.prefix(keyBytes)))
    }

    /// Writes the key to a file that only the user can read. After a power failure the file is either complete or
    /// missing.
    package func write(to file: URL) throws(Failure) {
        let temporary = file.path + ".new"
        // This removes the temporary file of an interrupted attempt.
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Failure(step: "cannot create \(temporary)", code: errno) }
        let count = Foundation.write(descriptor, bytes, bytes.count)
        var failed: Int32 = count == bytes.count ? 0 : count < 0 ? errno : EIO
        if failed == 0, fsync(descriptor) != 0 { failed = errno }
        close(descriptor)
        if failed == 0, rename(temporary, file.path) != 0 { failed = errno }
        guard failed == 0 else {
            unlink(temporary)
            throw Failure(step: "cannot write \(file.path)", code: failed)
        }
        let directory = open(file.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Failure(step: "cannot open the folder of \(file.path)", code: errno) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw Failure(step: "cannot sync the folder of \(file.path)", code: errno) }
    }
}
