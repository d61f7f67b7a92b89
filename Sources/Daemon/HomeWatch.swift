import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import Glibc
import Logging
import NightshiftAPI
import ServiceLifecycle

/// Ends the service whose home or database is gone: what it keeps there is lost, and another one may begin in its place.
struct HomeWatch: Service {
    let home: HomeIdentity
    let logger: Logger
    let stop: @Sendable () -> Void

    private static let pause: Duration = .seconds(10)

    func run() async {
        // Before the first look, so that nothing lies between the two.
        let changes = FolderWatch.changes(of: home.folders)
        await cancelWhenGracefulShutdown {
            if !home.isGone {
                for await _ in changes where home.isGone { break }
                // The kernel may have no watch to give (fs.inotify.max_user_instances): then it is looked for, now and then.
                while !home.isGone, !Task.isCancelled { try? await Task.sleep(for: Self.pause) }
            }
            guard home.isGone else { return }
            logger.error("The home of the service was removed. The service stops.", metadata: ["home": "\(home.path)"])
            stop()
        }
        try? await gracefulShutdown()
    }
}

/// The folder of a home and its database, as the service found them.
struct HomeIdentity: Sendable {
    let path: String
    private let folder: Place
    private let database: Place?

    /// Nil where there is no such folder.
    init?(_ paths: ServicePaths) {
        path = paths.state.path
        guard let folder = Place(path) else { return nil }
        self.folder = folder
        database = Place(paths.database.path)
    }

    /// Whether a path no longer leads to what was there.
    var isGone: Bool { folder.isGone || database?.isGone ?? false }

    /// The folder and those above it, any of which may be moved away.
    var folders: [String] {
        var folders: [String] = []
        var path = path
        while path != "/", !path.isEmpty {
            folders.append(path)
            let end = path.lastIndex(of: "/") ?? path.startIndex
            path = String(path[..<end])
        }
        return folders
    }

    /// A path, and what it led to.
    private struct Place: Sendable {
        let path: String
        private let device: UInt64
        private let inode: UInt64

        init?(_ path: String) {
            self.path = path
            guard let (device, inode) = Self.read(path) else { return nil }
            self.device = device
            self.inode = inode
        }

        var isGone: Bool {
            // Another error, such as a disk's, says nothing about where it is.
            guard let (device, inode) = Self.read(path) else { return errno == ENOENT || errno == ENOTDIR }
            return device != self.device || inode != self.inode
        }

        private static func read(_ path: String) -> (device: UInt64, inode: UInt64)? {
            var information = stat()
            guard stat(path, &information) == 0 else { return nil }
            return (UInt64(information.st_dev), UInt64(information.st_ino))
        }
    }
}
