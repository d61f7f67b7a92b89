import Foundation

/// A directory that is deleted with this object.
package final class TemporaryDirectory: Sendable {
    /// The absolute path, without a trailing slash.
    package let path: String

    /// Creates the directory below `parent`, or by default below `TMPDIR` or `/tmp`.
    package init(in parent: String? = nil) throws {
        let parent = parent ?? ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/nightshift-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp in \(parent)") }
        path = template.withUnsafeBufferPointer { buffer in
            String(decoding: buffer.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Returns the path of `name` in this directory.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file in this directory, and returns its path.
    @discardableResult
    package func write(_ contents: [UInt8], to name: String) throws -> String {
        try Data(contents).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    @discardableResult
    package func write(_ contents: String, to name: String) throws -> String {
        try write(Array(contents.utf8), to: name)
    }
}
