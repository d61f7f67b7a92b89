import Foundation
package import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The address of a running bridge for clients of aria2. `nightshiftd aria2` writes it for the program that started it.
package struct BridgeAddress: Hashable, Sendable, Codable {
    package var port: Int
    package var processID: Int32
    /// The secret, if this start created it.
    package var secret: String?

    package init(port: Int, processID: Int32, secret: String? = nil) {
        self.port = port
        self.processID = processID
        self.secret = secret
    }

    /// The port that clients of aria2 expect.
    package static let standardPort = 6_800
    /// The environment variable with a new secret. Arguments of programs can be read by other users.
    package static let secretVariable = "NIGHTSHIFT_ARIA2_SECRET"

    /// Returns the URL for JSON-RPC over HTTP.
    package static func url(port: Int) -> String { "http://127.0.0.1:\(port)/jsonrpc" }

    /// Returns the URL for JSON-RPC over a WebSocket.
    package static func webSocket(port: Int) -> String { "ws://127.0.0.1:\(port)/jsonrpc" }
}

/// The file that says where the bridge listens. The bridge holds a lock on it while it runs.
package struct BridgeRecord: Sendable {
    private let path: String

    package init(paths: ServicePaths) {
        path = paths.state.appending(path: "aria2.lock").path(percentEncoded: false)
    }

    /// The address of the running bridge; nil if none runs.
    package var running: BridgeAddress? {
        LockedFile(path: path).text.flatMap { try? JSON.decode(BridgeAddress.self, from: Data($0.utf8)) }
    }

    /// Takes the lock for this process until it ends. Returns false if another bridge has it.
    package func take() -> Bool {
        // A bridge can be the first program of a new home. If the directory cannot be made, the settings cannot be written
        // either, and that error says so.
        try? FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return true }
        // The descriptor stays open, and the lock is released when this process ends.
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// Writes where this process listens.
    package func write(_ address: BridgeAddress) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: try JSON.encode(address))
        try file.close()
    }
}
