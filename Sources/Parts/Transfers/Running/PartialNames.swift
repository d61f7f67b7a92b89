import Foundation
import Glibc
import NightshiftAPI

/// The names of partial files. For one location of one task, the name is always the same. Other users cannot predict
/// the name.
///
/// Names are derived from a random key that only the service's user can read. If the key is lost, the service cannot
/// find leftover files next to destinations. It still finds all other files, because rows contain full names.
struct PartialNames: Sendable {
    private let key: String

    /// Reads the key from which the names are derived, or creates it.
    ///
    /// - Parameter folder: the service's own folder, which contains the key.
    init(folder: String) {
        let path = "\(folder)/partials.key"
        if let kept = Self.read(path) {
            key = kept
            return
        }
        key = Self.token() + Self.token()
        Self.write(key, path)
    }

    /// Returns the name in the service's own folder. The name contains the id of the task.
    func own(_ task: TaskID, _ place: String) -> String { "\(task).\(digest(task, place)).part" }

    /// Returns the name in the folder of a destination.
    func hidden(_ task: TaskID, _ place: String) -> String { ".nightshift-\(digest(task, place)).part" }

    /// Returns a text of 128 random bits from the kernel.
    static func token() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    private func digest(_ task: TaskID, _ place: String) -> String {
        let text = Data("\(key) \(task) \(place)".utf8)
        return Verification.sha256(text).map { String($0.prefix(32)) } ?? "\(task).\(place)"
    }

    private static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        return count == bytes.count ? String(decoding: bytes, as: UTF8.self) : nil
    }

    private static func write(_ key: String, _ path: String) {
        let draft = "\(path).\(token())"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let bytes = Array(key.utf8)
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        if count == bytes.count, rename(draft, path) == 0 { return }
        unlink(draft)
    }
}
