import CSystemd
import Foundation
import Glibc

/// A watch that reports when a socket, or a folder on its path, appears in the file system.
///
/// Used by one thread, which polls ``descriptor``.
final class SocketWatch {
    let descriptor: Int32
    private let paths: [String]
    /// The awaited names, by the watches of the folders in which these names would appear.
    private var awaited: [Int32: Set<String>] = [:]

    /// Returns nil if the kernel does not allow another watch.
    init?(paths: [String]) {
        self.paths = paths
        descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        watch()
    }

    deinit {
        close(descriptor)
    }

    /// Reads the file system events. Returns true if an awaited name has appeared or has become accessible.
    func isNews() -> Bool {
        var isNews = false
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                if concerns(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { isNews = true }
            }
        }
        // If a folder has appeared, its contents are watched next.
        if isNews { watch() }
        return isNews
    }

    private func concerns(_ events: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        var isOurs = false
        while offset + MemoryLayout<inotify_event>.size <= events.count {
            let event = events.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let start = offset + MemoryLayout<inotify_event>.size
            offset = start + Int(event.len)
            // The name is padded with zeros.
            let name = String(decoding: events[start..<min(offset, events.count)].prefix { $0 != 0 }, as: UTF8.self)
            let isLost = event.mask & UInt32(IN_Q_OVERFLOW) != 0
            // The kernel also reports the end of watches that this object has removed.
            let isFolderGone = event.mask & UInt32(IN_IGNORED) != 0 && awaited[event.wd] != nil
            if isLost || isFolderGone || awaited[event.wd]?.contains(name) == true { isOurs = true }
        }
        return isOurs
    }

    private func watch() {
        for watch in awaited.keys { inotify_rm_watch(descriptor, watch) }
        awaited = [:]
        for path in paths {
            var name = path
            var folder = path
            repeat {
                name = (folder as NSString).lastPathComponent
                folder = (folder as NSString).deletingLastPathComponent
                // A bus creates its socket (IN_CREATE), listens, and then grants access to it (IN_ATTRIB).
                let watch = inotify_add_watch(
                    descriptor, folder, UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_ATTRIB))
                if watch >= 0 {
                    awaited[watch, default: []].insert(name)
                    break
                }
            } while folder != "/" && !folder.isEmpty
        }
    }
}
