import Foundation
import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// Checks whether the file systems of destinations and uploads respond.
    func checkFileSystems(_ status: ServiceStatus) -> Finding {
        guard let silent = status.silentFileSystems, let first = silent.first else {
            return .ok("file systems", "all respond")
        }
        let paths = silent.map { "\($0.path) (since \(invocation.times.absolute($0.since)))" }.joined(separator: ", ")
        return .warn(
            "file systems", silent.count == 1 ? "\(paths) does not respond" : "these do not respond: \(paths)",
            advice: "Check the server or the device, or unmount it with umount -l. To find the mount point, run: "
                + "findmnt -T \(first.path)")
    }

    /// Checks whether the system lets downloads measure the round trip, by which they yield to other traffic.
    ///
    /// - Parameter setting: the content of `net.ipv4.tcp_timestamps`; nil if it cannot be read.
    static func checkYielding(timestamps setting: String?) -> Finding {
        guard setting?.trimmingCharacters(in: .whitespacesAndNewlines) == "0" else {
            return .ok("yielding", "downloads can measure the delay that they add for other traffic")
        }
        return .warn(
            "yielding", "TCP timestamps are off, so downloads that yield notice other traffic late",
            advice: "Run: sudo sysctl -w net.ipv4.tcp_timestamps=1")
    }

    /// Checks for transfers that need help from the user: those blocked after crashes of the service, and unreadable
    /// ones.
    func checkTransfers() async -> Finding {
        var held: [TaskID] = []
        var unreadable: [UnreadableTask] = []
        func collect(_ task: UnreadableTask) { unreadable.append(task) }
        do {
            try await invocation.service.forEachTask(TaskFilter(states: [.suspended]), unreadable: collect) { task in
                if task.wait?.reason == .serviceFault { held.append(task.id) }
            }
        } catch {
            return .warn("transfers", "the service did not list the transfers")
        }
        if let first = unreadable.first {
            return .warn(
                "transfers", "the stored data of \(Self.words(unreadable.map(\.id))) cannot be read: \(first.reason)",
                advice: "Delete this data with: nightshift remove \(first.id)")
        }
        if let first = held.first {
            return .warn(
                "transfers", "blocked because the service crashed while it ran \(Self.words(held))",
                advice: "See: nightshift why \(first). To try it once more, run: nightshift resume \(first)")
        }
        return .ok("transfers", "no transfer needs your help")
    }

    private static func words(_ ids: [TaskID]) -> String {
        ids.count == 1 ? "transfer \(ids[0])" : "\(ids.count) transfers (the first is \(ids[0]))"
    }
}
