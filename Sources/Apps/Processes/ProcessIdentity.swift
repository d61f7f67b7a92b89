import Clock
import Foundation
import Glibc
import NightshiftAPI

/// One process, never to be taken for another: the kernel gives numbers again, but not at the same time of the same boot.
package struct ProcessIdentity: Codable, Hashable, Sendable, CustomStringConvertible {
    package let pid: Int32
    /// Clock ticks from boot to its start.
    package let startTime: UInt64
    package let bootID: String

    package init(pid: Int32, startTime: UInt64, bootID: String) {
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }

    /// The process that has this number now; nil where there is none.
    package static func of(_ pid: Int32, bootID: String) -> ProcessIdentity? {
        guard let statistics = ProcessStatistics(of: pid) else { return nil }
        return ProcessIdentity(pid: pid, startTime: statistics.startTime, bootID: bootID)
    }

    /// Whether it still runs, or is stopped; not whether somebody has yet to ask for its status.
    package var isAlive: Bool {
        guard bootID == Self.currentBootID, let statistics = ProcessStatistics(of: pid) else { return false }
        return statistics.startTime == startTime && !statistics.isZombie
    }

    /// The kernel's name for this boot; empty without /proc.
    package static let currentBootID =
        KernelFile.text("/proc/sys/kernel/random/boot_id")?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""

    package var description: String { "process \(pid)" }

    /// Sends a signal to the process group that it leads, though it may have ended itself; false where there is none.
    ///
    /// While a group has members its number is given to no process. So another process of that number means that the
    /// group is gone; none, that its leader is.
    @discardableResult
    func signalGroup(_ signal: Int32) -> Bool {
        if let statistics = ProcessStatistics(of: pid), statistics.startTime != startTime { return false }
        return killpg(pid, signal) == 0
    }
}
