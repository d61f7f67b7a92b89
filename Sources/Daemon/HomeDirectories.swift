import Foundation
import Glibc
import NightshiftAPI

/// Makes the directories of a home, private to their owner.
enum HomeDirectories {
    /// - Throws: ``DaemonError/home(_:)`` where one cannot be made or belongs to somebody else.
    static func prepare(_ paths: ServicePaths) throws(DaemonError) {
        for directory in [paths.state, paths.runtime, paths.partials, paths.files, paths.sources, paths.apps] {
            try prepare(directory.path)
        }
    }

    private static func prepare(_ path: String) throws(DaemonError) {
        let attributes: [FileAttributeKey: Any]
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            attributes = try FileManager.default.attributesOfItem(atPath: path)
        } catch {
            throw .home("The directory \(path) cannot be made or used: \(error.localizedDescription)")
        }
        let owner = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value
        guard owner == geteuid() else {
            throw .home("The directory \(path) belongs to user \(owner ?? 0), not to you. Nothing was changed.")
        }
        let permissions = (attributes[.posixPermissions] as? NSNumber)?.uint32Value ?? 0o777
        // One that was made by hand, or by an older umask, may be open to others.
        if permissions & 0o077 != 0, chmod(path, 0o700) != 0 {
            throw .home(
                "The directory \(path) is open to others and cannot be closed: \(String(cString: strerror(errno))).")
        }
    }
}
