import Foundation
package import Glibc
import NightshiftAPI

/// The statistics of a process in `/proc/PID/stat` (proc_pid_stat(5)).
package struct ProcessStatistics: Hashable, Sendable {
    /// The state: `R`, `S`, `D`, `T`, `Z` and so on.
    package let state: Character
    package let parent: pid_t
    package let group: pid_t
    /// The start time in clock ticks after boot.
    package let startTime: UInt64

    package var isStopped: Bool { state == "T" || state == "t" }

    /// Whether a stop signal has taken effect on the process with the number `process`.
    ///
    /// The process may be waiting in the kernel for a stopped child of vfork(2) or posix_spawn(3), such as a shell that
    /// starts a command. Such a process only stops after the child's exec, which happens once both are continued. Until
    /// then it does not run either, so it counts as stopped.
    package func isStopped(as process: pid_t) -> Bool {
        if isStopped { return true }
        // Only the main thread counts: a waiting thread of another kind does not keep the process from stopping.
        let path = "/proc/\(process)/task/\(process)/children"
        guard isInKernel, let children = KernelFile.text(path) else { return false }
        return children.split(separator: " ").contains { child in
            pid_t(child).flatMap { ProcessStatistics(of: $0) }?.isStopped == true
        }
    }

    /// Whether the process waits in the kernel and only SIGKILL can interrupt it: for a disk, or for a child of
    /// vfork(2).
    private var isInKernel: Bool { state == "D" }
    /// Whether the process has ended and its status has not been collected.
    package var isZombie: Bool { state == "Z" || state == "X" }

    /// Returns nil if the process does not exist.
    package init?(of process: pid_t) {
        guard let text = KernelFile.text("/proc/\(process)/stat") else { return nil }
        self.init(parsing: text)
    }

    /// - Parameter text: the content of the file.
    package init?(parsing text: String) {
        // The program name in parentheses may itself contain spaces and parentheses.
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[text.utf8.index(after: end)...].split(separator: " ")
        // The manual numbers these fields from 3: state is 3, starttime 22.
        guard fields.count > 19, let state = fields[0].first, let parent = pid_t(fields[1]),
            let group = pid_t(fields[2]), let startTime = UInt64(fields[19])
        else { return nil }
        self.state = state
        self.parent = parent
        self.group = group
        self.startTime = startTime
    }
}
