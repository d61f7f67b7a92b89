import Foundation
import NightshiftAPI
import NightshiftClient

/// A random identifier for all apps of one vendor, in a file of the service's state folder.
struct VendorIdentifier: Sendable {
    private let file: URL

    /// - Parameter app: its id without the last component names the vendor, as Apple documents it for bundle identifiers.
    init(_ paths: ServicePaths, of app: AppID) {
        let components = app.rawValue.split(separator: ".", omittingEmptySubsequences: false)
        let vendor = components.count > 1 ? components.dropLast().joined(separator: ".") : app.rawValue
        file = paths.state.appending(path: "vendors", directoryHint: .isDirectory)
            .appending(path: vendor.fileName(forDots: "vendor"))
    }

    /// Reads the identifier, or makes one. Nil where the file can be neither read nor written.
    ///
    /// Processes that make one at the same moment all return the first one's.
    func value() -> UUID? {
        if let known = read() { return known }
        let folder = file.deletingLastPathComponent()
        let draft = folder.appending(path: ".\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: draft) }
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Data(UUID().uuidString.utf8).write(to: draft)
            // After a power cut an empty file would stay under the name for good.
            let written = try FileHandle(forWritingTo: draft)
            try written.synchronize()
            try written.close()
            // Fails where the file exists.
            try FileManager.default.linkItem(at: draft, to: file)
        } catch {
            return read()
        }
        return read()
    }

    private func read() -> UUID? {
        (try? String(contentsOf: file, encoding: .utf8)).flatMap { UUID(uuidString: $0) }
    }
}

extension Application {
    /// The identifier of the app's vendor. Waits for the service, which knows the app's id; nil without one.
    package nonisolated var vendorIdentifier: UUID? {
        guard let hello = try? connection.openChannel(until: .now + Self.devicePatience, hasty: true) else {
            return nil
        }
        return VendorIdentifier(connection.paths, of: hello.app).value()
    }
}
