import CDispatch  // for stat(2), which the compiler attributes to CDispatch wherever that module is loaded
import Clock
import Foundation
import Glibc
package import NightshiftAPI
import Synchronization

extension SystemProcessHost {
    package func locks(_ process: ProcessIdentity) -> [HeldLock] {
        // If /proc/locks is empty, there are no locks.
        guard let text = KernelFile.text("/proc/locks"), !text.isEmpty else { return [] }
        guard let hosted = state.withLock({ $0.processes[process] }) else { return [] }
        let members = hosted.group?.processes ?? Self.members(ofGroup: process.pid)
        var held: [OpenFile: [(lock: FileLock, process: pid_t, path: String)]] = [:]
        for member in members {
            for (number, lock) in Self.locks(of: member) {
                guard let file = OpenFile(member, number) else { continue }
                let isWriteAhead = file.path.hasSuffix("-shm") || access(file.path + "-shm", F_OK) == 0
                guard !lock.isLifeSign(path: file.path, isWriteAhead: isWriteAhead) else { continue }
                held[file, default: []].append((lock, member, file.path))
            }
        }
        guard !held.isEmpty else { return [] }
        let shared = Self.open(outside: Set(members), among: Set(held.keys))
        let awaited = Set(
            text.split(separator: "\n").compactMap { FileLock(parsing: $0) }
                .filter { $0.isAwaited && !members.contains($0.process) }.map(\.file))
        // The set has one element per file and kind. Several locked ranges of a file are reported once.
        var result: Set<HeldLock> = []
        for (file, locks) in held {
            for (lock, process, path) in locks where shared.contains(file) || awaited.contains(lock.file) {
                guard !result.contains(where: { $0.path == path && $0.kind == lock.kind.rawValue }) else { continue }
                result.insert(HeldLock(path: path, process: process, kind: lock.kind.rawValue))
            }
        }
        return result.sorted { ($0.path, $0.kind) < ($1.path, $1.kind) }
    }

    /// The identity of an open file. It is equal in all processes that have the file open.
    private struct OpenFile: Hashable {
        let device: dev_t
        let inode: ino_t
        let path: String

        init?(_ process: pid_t, _ descriptor: String) {
            let link = "/proc/\(process)/fd/\(descriptor)"
            var information = stat()
            guard stat(link, &information) == 0,
                let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
            else { return nil }
            device = information.st_dev
            inode = information.st_ino
            self.path = path
        }

        static func == (one: OpenFile, other: OpenFile) -> Bool {
            one.device == other.device && one.inode == other.inode
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(device)
            hasher.combine(inode)
        }
    }

    /// Returns the locks of a process, each with its descriptor.
    private static func locks(of process: pid_t) -> [(descriptor: String, lock: FileLock)] {
        names("/proc/\(process)/fdinfo").flatMap { descriptor in
            (KernelFile.text("/proc/\(process)/fdinfo/\(descriptor)") ?? "").split(separator: "\n").compactMap { line in
                guard line.hasPrefix("lock:"), let lock = FileLock(parsing: line.dropFirst(5)), !lock.isAwaited else {
                    return nil
                }
                return (descriptor, lock)
            }
        }
    }

    /// Returns the files in `files` that processes outside of `members` have open. Processes that this process may not
    /// inspect are skipped.
    private static func open(outside members: Set<pid_t>, among files: Set<OpenFile>) -> Set<OpenFile> {
        var found: Set<OpenFile> = []
        for process in processes where !members.contains(process) {
            for descriptor in names("/proc/\(process)/fd") {
                guard let file = OpenFile(process, descriptor), files.contains(file) else { continue }
                found.insert(file)
                if found.count == files.count { return found }
            }
        }
        return found
    }

    private static func members(ofGroup leader: pid_t) -> [pid_t] {
        processes.filter { ProcessStatistics(of: $0)?.group == leader }
    }

    private static var processes: [pid_t] { names("/proc").compactMap { pid_t($0) } }

    private static func names(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}
