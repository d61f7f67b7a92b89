import Clock
import Glibc

/// Hears of folders that go away, without looking for them.
package enum FolderWatch {
    /// An element whenever one of `folders`, or a file in the innermost one, may have been removed, moved or replaced; the reader looks.
    ///
    /// - Parameter folders: the innermost one first, then those above it.
    ///
    /// Finished at once where the kernel has no more watches to give.
    package static func changes(of folders: [String]) -> AsyncStream<Void> {
        KernelNotices.stream(named: "home", open: { open(folders) }, wait: wait)
    }

    /// An element whenever the file at `path` may be gone, or a folder on its way may be there again; whoever reads it looks.
    ///
    /// Finished at once where the kernel has no more watches to give.
    package static func changes(ofFileAt path: String) -> AsyncStream<Void> {
        KernelNotices.stream(named: "socket", open: { open(wayTo: path) }, wait: wait)
    }

    private static func open(wayTo path: String) -> Int32 {
        let entries = UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO)
        return open { watch in
            var (folder, isNearest) = (path, true)
            while let end = folder.lastIndex(of: "/") {
                folder = String(folder[..<end])
                // What goes, and what comes in the last folder of the way that is there.
                guard watch(folder.isEmpty ? "/" : folder, isNearest ? entries : 0) else { continue }
                isNearest = false
            }
        }
    }

    private static func open(_ folders: [String]) -> Int32 {
        open { watch in
            // Of a folder in which somebody has a file open, only the folder above it says anything; whoever removes a tree begins at
            // the innermost folder.
            let files = UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO)
            for (place, folder) in folders.enumerated() {
                _ = watch(folder, place == 0 ? files : place == 1 ? UInt32(IN_DELETE) : 0)
            }
        }
    }

    /// - Parameter choose: watches one folder after the other, with these events beside its own end; says whether it is there.
    /// - Returns: -1 where nothing is watched.
    private static func open(_ choose: (_ watch: (_ folder: String, _ events: UInt32) -> Bool) -> Void) -> Int32 {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return -1 }
        // A folder whose last link goes while somebody has it open changes its attributes only.
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

    @Sendable private static func wait(_ descriptor: Int32) -> Int32 {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count > 0 { return 0 }
            if count == 0 || errno != EINTR { return -1 }
        }
    }
}
