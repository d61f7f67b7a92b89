import Clock
import Foundation
import Glibc
import NightshiftAPI

/// The unique identity of a process. The kernel reuses pids, but not with the same start time in the same boot.
package struct ProcessIdentity: Codable, Hashable, Sendable, CustomStringConvertible {
    package let pid: Int32
    /// The start time in clock ticks since boot.
    package let startTime: UInt64
    package let bootID: String

    package init(pid: Int32, startTime: UInt64, bootID: String) {
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }

    /// Returns the process that currently has this pid; nil if no process has it.
    package static func of(_ pid: Int32, bootID: String) -> ProcessIdentity? {
        guard let statistics = ProcessStatistics(of: pid) else { return nil }
        return ProcessIdentity(pid: pid, startTime: statistics.startTime, bootID: bootID)
    }

    /// Whether the process exists and is not a zombie. A stopped process counts as alive.
    package var isAlive: Bool {
        guard bootID == Self.currentBootID, let statistics = ProcessStatistics(of: pid) else { return false }
        return statistics.startTime == startTime && !statistics.isZombie
    }

    /// The kernel's id of this boot; empty if /proc is not mounted.
    package static let currentBootID =
        KernelFile.text("/proc/sys/kernel/random/boot_id")?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""

    package var description: String { "process \(pid)" }

    /// Sends a signal to the process group that the process leads or led. Returns false if the group is gone.
    ///
    /// While a group has members, the kernel does not reuse its number as a pid. So if another process has that pid,
    /// the group is gone. If no process has that pid, only the leader of the group is known to have ended.
    @discardableResult
    func signalGroup(_ signal: Int32) -> Bool {
        if let statistics = ProcessStatistics(of: pid), statistics.startTime != startTime { return false }
        return killpg(pid, signal) == 0
    }
}
