import Foundation
package import Glibc
import NightshiftAPI

/// What `/proc/PID/stat` says of a process (proc_pid_stat(5)).
package struct ProcessStatistics: Hashable, Sendable {
    /// `R`, `S`, `D`, `T`, `Z` and so on.
    package let state: Character
    package let parent: pid_t
    /// The process group.
    package let group: pid_t
    /// Clock ticks after boot.
    package let startTime: UInt64

    package var isStopped: Bool { state == "T" || state == "t" }

    /// Whether a stop signal has reached the process, whose number is `process`.
    ///
    /// In the kernel it may wait for a stopped child of vfork(2) or posix_spawn(3), as a shell that starts a command does. It
    /// stops only behind the child's exec, which the child comes to when both are continued; until then it stands still as well.
    package func isStopped(as process: pid_t) -> Bool {
        if isStopped { return true }
        // Of the leader alone: another thread that waits so does not keep it from stopping.
        let path = "/proc/\(process)/task/\(process)/children"
        guard isInKernel, let children = KernelFile.text(path) else { return false }
        return children.split(separator: " ").contains { child in
            pid_t(child).flatMap { ProcessStatistics(of: $0) }?.isStopped == true
        }
    }

    /// It waits in the kernel for what no signal but SIGKILL interrupts: a disk, or a child of vfork(2).
    private var isInKernel: Bool { state == "D" }
    /// It has ended, and nobody has asked for its status yet.
    package var isZombie: Bool { state == "Z" || state == "X" }

    /// Nil where there is no such process.
    package init?(of process: pid_t) {
        guard let text = KernelFile.text("/proc/\(process)/stat") else { return nil }
        self.init(parsing: text)
    }

    /// - Parameter text: the file's content.
    package init?(parsing text: String) {
        // The program's name, in parentheses, may contain spaces and parentheses.
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[text.utf8.index(after: end)...].split(separator: " ")
        // Numbered from 3 in the manual: state is 3, starttime 22.
        guard fields.count > 19, let state = fields[0].first, let parent = pid_t(fields[1]),
            let group = pid_t(fields[2]), let startTime = UInt64(fields[19])
        else { return nil }
        self.state = state
        self.parent = parent
        self.group = group
        self.startTime = startTime
    }
}
