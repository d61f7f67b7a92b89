import Clock
import Glibc

/// A watch that uses inotify to report removed folders without polling.
package enum FolderWatch {
    /// Returns a stream with an event whenever one of `folders`, or a file in the innermost one, may have been removed,
    /// moved or replaced. The reader must check which of these happened.
    ///
    /// - Parameter folders: The innermost folder first, then its parents.
    ///
    /// The stream finishes immediately if the kernel has no more watches.
    package static func changes(of folders: [String]) -> AsyncStream<Void> {
        KernelNotices.stream(of: open(folders), take: take)
    }

    /// Returns a stream with an event whenever the file at `path` may have been removed, or one of its folders may
    /// exist again. The reader must check which of these happened. The stream finishes immediately if the kernel has no
    /// more watches.
    package static func changes(ofFileAt path: String) -> AsyncStream<Void> {
        KernelNotices.stream(of: open(wayTo: path), take: take)
    }

    private static func open(wayTo path: String) -> Int32 {
        let entries = UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO)
        return open { watch in
            var (folder, isNearest) = (path, true)
            while let end = folder.lastIndex(of: "/") {
                folder = String(folder[..<end])
                // Each folder is watched for removal. The last existing folder of the path is also watched for new
                // entries.
                guard watch(folder.isEmpty ? "/" : folder, isNearest ? entries : 0) else { continue }
                isNearest = false
            }
        }
    }

    private static func open(_ folders: [String]) -> Int32 {
        open { watch in
            // If a process has a file open in a removed folder, the watch on that folder reports no removal, but the
            // watch on its parent does. A program that removes a tree begins with the innermost folder.
            let files = UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO)
            for (place, folder) in folders.enumerated() {
                _ = watch(folder, place == 0 ? files : place == 1 ? UInt32(IN_DELETE) : 0)
            }
        }
    }

    /// Opens an inotify descriptor that watches the chosen folders.
    ///
    /// - Parameter choose: A closure that calls `watch` for one folder after another. `events` are watched in addition
    ///   to the removal of the folder. `watch` returns whether the folder exists.
    /// - Returns: The descriptor; -1 if no folder is watched.
    private static func open(_ choose: (_ watch: (_ folder: String, _ events: UInt32) -> Bool) -> Void) -> Int32 {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard descriptor >= 0 else { return -1 }
        // If the last link of a folder is removed while the folder is open, the kernel reports only a change of its
        // attributes.
        let vanishing = UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_ATTRIB) | UInt32(IN_ONLYDIR)
        var count = 0
        choose { folder, events in
            guard inotify_add_watch(descriptor, folder, vanishing | events) >= 0 else { return false }
            count += 1
            return true
        }
        guard count > 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Takes all events that have arrived so far.
    @Sendable private static func take(_ descriptor: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 || count < 0 && (errno == EINTR || errno == EAGAIN)
    }
}
