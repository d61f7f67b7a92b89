import CDigest
import Foundation
import HTTPTypes

/// The directory of finished uploads. Each upload is stored under its path, with a description beside it.
struct UploadDirectory: Sendable {
    private let root: URL

    /// The description that is stored beside a finished upload.
    struct Description: Codable {
        var method: String
        var size: Int64
        /// The SHA-256 hash of the upload, in lower-case hexadecimal digits.
        var sha256: String
        /// The header fields as the application received them. The fields of the resumable upload itself are removed,
        /// or are those of the first request.
        var headers: [[String]]
    }

    init(path: String) throws {
        root = URL(filePath: path, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    }

    /// Returns a new file for an upload, or nil if the path leads out of the directory.
    func upload(for request: HTTPRequest) throws -> PendingUpload? {
        let path = (request.path ?? "/").prefix { $0 != "?" }
        let names = path.split(separator: "/").map { String($0).removingPercentEncoding ?? "" }
        guard !names.isEmpty, names.allSatisfy({ !["", ".", ".."].contains($0) && !$0.contains("/") }) else {
            return nil
        }
        let target = names.reduce(root) { $0.appending(path: $1) }
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        return try PendingUpload(request, target: target)
    }
}

/// A file for an upload in progress. It is deleted if the upload does not finish.
final class PendingUpload {
    private let request: HTTPRequest
    private let target: URL
    private let unfinished: URL
    private let handle: FileHandle
    private let digest: OpaquePointer?
    private var size: Int64 = 0

    init(_ request: HTTPRequest, target: URL) throws {
        self.request = request
        self.target = target
        unfinished = target.deletingLastPathComponent().appending(path: ".\(UUID().uuidString).unfinished")
        try Data().write(to: unfinished)
        handle = try FileHandle(forWritingTo: unfinished)
        digest = nightshift_digest_new("SHA256")
    }

    deinit {
        nightshift_digest_free(digest)
        try? handle.close()
        try? FileManager.default.removeItem(at: unfinished)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try handle.write(contentsOf: bytes)
        _ = nightshift_digest_update(digest, bytes.baseAddress, bytes.count)
        size += Int64(bytes.count)
    }

    /// Writes the description after the file, so that an upload with a description is complete.
    func finish() throws {
        try handle.close()
        var output = [UInt8](repeating: 0, count: 64)
        let length = nightshift_digest_finish(digest, &output)
        let description = UploadDirectory.Description(
            method: request.method.rawValue, size: size,
            sha256: output.prefix(length).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
            headers: request.headerFields.map { [$0.name.rawName, $0.value] })
        guard rename(unfinished.path, target.path) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
        try JSONEncoder().encode(description).write(
            to: target.appendingPathExtension("upload.json"), options: .atomic)
    }
}
