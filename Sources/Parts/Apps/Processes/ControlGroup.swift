import Foundation
import Glibc
import NightshiftAPI

/// A cgroup (v2) whose processes are frozen, thawed and killed together.
struct ControlGroup: Hashable, Sendable {
    let path: String

    /// The file that freezes and thaws the cgroup.
    var freezeFile: String { "\(path)/cgroup.freeze" }

    /// The name of the unit of systemd to which the cgroup belongs; nil for a cgroup that this service created.
    var unit: String? {
        let name = path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
        return AppUnits.isUnit(name) ? String(name) : nil
    }

    /// Begins to freeze the cgroup. ``waitUntilFrozen(within:)`` waits until it is frozen.
    func freeze() -> Bool { Self.write("1", to: freezeFile) }

    func thaw() -> Bool { Self.write("0", to: freezeFile) }

    /// Moves the calling process into the cgroup.
    func takeIn() -> Bool { Self.write("0", to: "\(path)/cgroup.procs") }

    /// Opens the file through which a process moves itself into the cgroup. Returns -1 and sets errno on failure.
    func openProcesses() -> Int32 { open("\(path)/cgroup.procs", O_WRONLY | O_CLOEXEC) }

    /// Blocks until every process in the cgroup is frozen. Returns false if a ``CheckTimeout`` of `bound` expires
    /// first.
    func waitUntilFrozen(within bound: Duration) -> Bool {
        let descriptor = open("\(path)/cgroup.events", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // A notification from the kernel file ends a pause early.
        var timeout = CheckTimeout(bound, first: .milliseconds(100), longest: .milliseconds(100))
        var buffer = [UInt8](repeating: 0, count: 256)
        while true {
            // Reading the file also re-arms its change notification.
            let count = pread(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return false }
            let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
            if lines.contains("frozen 1") { return true }
            guard let pause = timeout.pause() else { return false }
            var event = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            poll(&event, 1, Int32(saturating: (pause / .milliseconds(1)).rounded(.up)))
        }
    }

    /// Sends SIGKILL to every process in the cgroup.
    func kill() {
        if Self.write("1", to: "\(path)/cgroup.kill") { return }
        // Linux before 5.14 has no cgroup.kill. Freezing then prevents forks between reading the pids and sending the
        // signal. SIGKILL also ends frozen processes.
        _ = freeze()
        for process in processes { Glibc.kill(process, SIGKILL) }
        _ = thaw()
    }

    /// Removes the cgroup. Returns false if it still has processes.
    @discardableResult
    func removeIfEmpty() -> Bool { rmdir(path) == 0 || errno != EBUSY }

    /// Opens the file that reports when the last process leaves the cgroup. Returns -1 on failure.
    func openEvents() -> Int32 {
        let descriptor = open("\(path)/cgroup.events", O_RDONLY | O_CLOEXEC)
        Self.expectNotice(descriptor)
        return descriptor
    }

    /// Reads the file to re-arm its change notification. Returns false if the cgroup is gone.
    @discardableResult
    static func expectNotice(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return pread(descriptor, &byte, 1, 0) > 0
    }

    var processes: [pid_t] {
        let text = KernelFile.text("\(path)/cgroup.procs") ?? ""
        return text.split(separator: "\n").compactMap { pid_t($0) }
    }

    private static func write(_ text: String, to path: String) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        let count = Glibc.write(descriptor, text, text.utf8.count)
        let code = errno
        close(descriptor)
        errno = code
        return count == text.utf8.count
    }
}
