import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Foundation
import Glibc
import Logging
import NightshiftAPI
import ServiceLifecycle

/// The service of the group that stops the whole service if its home or its database was removed. Otherwise, further
/// data would be lost, and another service might start in the same place.
struct HomeWatch: Service {
    let home: HomeIdentity
    let logger: Logger
    let stop: @Sendable () -> Void

    private static let pause: Duration = .seconds(10)

    func run() async {
        // The watch begins before the first check, so that no change is missed.
        let changes = FolderWatch.changes(of: home.folders)
        await cancelWhenGracefulShutdown {
            if !home.isGone {
                for await _ in changes where home.isGone { break }
                // If the kernel has no more watches (fs.inotify.max_user_instances), the state is polled.
                while !home.isGone, !Task.isCancelled { try? await Task.sleep(for: Self.pause) }
            }
            guard home.isGone else { return }
            logger.error("The home of the service was removed. The service stops.", metadata: ["home": "\(home.path)"])
            stop()
        }
        try? await gracefulShutdown()
    }
}

/// The identity of a home directory and its database at the start of the service.
struct HomeIdentity: Sendable {
    let path: String
    private let folder: Place
    private let database: Place?

    /// Returns nil if the folder does not exist.
    init?(_ paths: ServicePaths) {
        path = paths.state.path
        guard let folder = Place(path) else { return nil }
        self.folder = folder
        database = Place(paths.database.path)
    }

    /// Whether a path no longer leads to the original file or folder.
    var isGone: Bool { folder.isGone || database?.isGone ?? false }

    /// The folder and its parents, each of which may be moved.
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

    /// A path with the identity of its original file or folder.
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
            // Other errors, such as disk errors, do not show that the file was removed.
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
