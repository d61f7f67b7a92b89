import Foundation
import NightshiftAPI
import NightshiftClient

/// The random identifier that all apps of one vendor share. It is stored in a file in the service's state folder.
struct VendorIdentifier: Sendable {
    private let file: URL

    /// Determines the file for the identifier of an app's vendor, without reading the file.
    ///
    /// - Parameter app: The app's id. The id without its last component names the vendor, as Apple documents for bundle
    ///   identifiers.
    init(_ paths: ServicePaths, of app: AppID) {
        let components = app.rawValue.split(separator: ".", omittingEmptySubsequences: false)
        let vendor = components.count > 1 ? components.dropLast().joined(separator: ".") : app.rawValue
        file = paths.state.appending(path: "vendors", directoryHint: .isDirectory)
            .appending(path: vendor.fileName(forDots: "vendor"))
    }

    /// Reads the identifier, or creates it. Returns nil if the file can be neither read nor written.
    ///
    /// If several processes create the identifier at the same time, all of them return the identifier of the first
    /// process.
    func value() -> UUID? {
        if let known = read() { return known }
        let folder = file.deletingLastPathComponent()
        let draft = folder.appending(path: ".\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: draft) }
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Data(UUID().uuidString.utf8).write(to: draft)
            // The data is synced before the file gets its name. Otherwise, a power failure could leave an empty file
            // under that name.
            let written = try FileHandle(forWritingTo: draft)
            try written.synchronize()
            try written.close()
            // Linking fails if the file already exists.
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
    /// The identifier of the app's vendor, or nil if no service is running. Reading this property waits for the
    /// service, which knows the app's id.
    package nonisolated var vendorIdentifier: UUID? {
        guard let hello = try? connection.openChannel(until: .now + Self.deviceTimeout, hasty: true) else {
            return nil
        }
        return VendorIdentifier(connection.paths, of: hello.app).value()
    }
}
