import Foundation
package import Glibc
import NightshiftAPI

/// The statistics of a process in `/proc/PID/stat` (proc_pid_stat(5)).
package struct ProcessStatistics: Hashable, Sendable {
    /// The state of the process: `R`, `S`, `D`, `T`, `Z` and so on.
    package let state: Character
    package let parent: pid_t
    package let group: pid_t
    /// The start time in clock ticks since boot.
    package let startTime: UInt64

    package var isStopped: Bool { state == "T" || state == "t" }

    /// Returns whether a stop signal has taken effect on the process with the pid `process`.
    ///
    /// The process may be waiting in the kernel for a stopped child of vfork(2) or posix_spawn(3), for example a shell
    /// that starts a command. Such a process stops only after the child's exec, which happens when both processes are
    /// continued. Until then the process does not run, so it counts as stopped.
    package func isStopped(as process: pid_t) -> Bool {
        if isStopped { return true }
        // Only the main thread counts, because other waiting threads do not keep the process from stopping.
        let path = "/proc/\(process)/task/\(process)/children"
        guard isInKernel, let children = KernelFile.text(path) else { return false }
        return children.split(separator: " ").contains { child in
            pid_t(child).flatMap { ProcessStatistics(of: $0) }?.isStopped == true
        }
    }

    /// Whether the process waits in the kernel for a disk or for a child of vfork(2). Only SIGKILL can interrupt such a
    /// wait.
    private var isInKernel: Bool { state == "D" }
    /// Whether the process has ended and its parent has not collected its status.
    package var isZombie: Bool { state == "Z" || state == "X" }

    /// Reads the statistics of a process; nil if the process does not exist.
    package init?(of process: pid_t) {
        guard let text = KernelFile.text("/proc/\(process)/stat") else { return nil }
        self.init(parsing: text)
    }

    /// Parses the statistics of a process.
    ///
    /// - Parameter text: the content of `/proc/PID/stat`.
    package init?(parsing text: String) {
        // The program name is in parentheses, and may itself contain spaces and parentheses.
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[text.utf8.index(after: end)...].split(separator: " ")
        // The manual page counts these fields from 3: state is 3, and starttime is 22.
        guard fields.count > 19, let state = fields[0].first, let parent = pid_t(fields[1]),
            let group = pid_t(fields[2]), let startTime = UInt64(fields[19])
        else { return nil }
        self.state = state
        self.parent = parent
        self.group = group
        self.startTime = startTime
    }
}
