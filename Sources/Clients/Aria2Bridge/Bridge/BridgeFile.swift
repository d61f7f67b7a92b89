import Foundation
import Glibc
import NightshiftAPI

/// The file in which the bridge keeps its secret, and the options for new downloads. Only the user can read it.
struct BridgeFile: Sendable {
    struct Content: Hashable, Sendable, Codable {
        var secret: String
        var options: [String: OptionValue] = [:]
    }

    let path: String

    init(paths: ServicePaths) {
        path = paths.state.appending(path: "aria2.json").path(percentEncoded: false)
    }

    /// Reads the file.
    ///
    /// - Returns: nil if there is no file.
    /// - Throws: a sentence if the file cannot be read.
    func read() throws -> Content? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        do {
            return try JSON.decode(Content.self, from: Data(contentsOf: URL(filePath: path)))
        } catch {
            throw BridgeFailure(
                message:
                    "The settings of the bridge in \(path) cannot be read. Remove the file to start with a new secret.")
        }
    }

    /// Replaces the file.
    func write(_ content: Content) throws {
        let folder = URL(filePath: path).deletingLastPathComponent()
        let new = path + ".new"
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try? FileManager.default.removeItem(atPath: new)
            let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try file.write(contentsOf: try JSON.encode(content))
            try file.synchronize()
            guard rename(new, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        } catch {
            throw BridgeFailure(message: "The settings of the bridge could not be written to \(path).")
        }
    }
}

/// An error of the bridge's program, with a message for people.
struct BridgeFailure: Error, Hashable {
    var message: String
}
