import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import Glibc
import Logging
import NightshiftAPI
import ServiceLifecycle

/// Ends the service whose home is gone: what it keeps there is nobody's any more, and another one may begin in its place.
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
            logger.error("The home is gone; the service ends", metadata: ["home": "\(home.path)"])
            stop()
        }
        try? await gracefulShutdown()
    }
}

/// The folder of a home as the service found it.
struct HomeIdentity: Sendable {
    let path: String
    private let device: UInt64
    private let inode: UInt64

    /// Nil where there is no such folder.
    init?(_ paths: ServicePaths) {
        path = paths.state.path
        guard let (device, inode) = Self.read(path) else { return nil }
        self.device = device
        self.inode = inode
    }

    /// Whether the path no longer leads to that folder.
    var isGone: Bool {
        // Another error, such as a disk's, says nothing about where the folder is.
        guard let (device, inode) = Self.read(path) else { return errno == ENOENT || errno == ENOTDIR }
        return device != self.device || inode != self.inode
    }

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

    private static func read(_ path: String) -> (device: UInt64, inode: UInt64)? {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        return (UInt64(information.st_dev), UInt64(information.st_ino))
    }
}
