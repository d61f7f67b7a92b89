import Foundation
import NightshiftAPI
import NightshiftClient

extension DoctorChecks {
    /// File systems of destinations and uploads that do not answer.
    func checkFileSystems(_ status: ServiceStatus) -> Finding {
        guard let silent = status.silentFileSystems, let first = silent.first else {
            return .ok("file systems", "all answer")
        }
        let paths = silent.map { "\($0.path) (since \(invocation.times.absolute($0.since)))" }.joined(separator: ", ")
        return .warn(
            "file systems", silent.count == 1 ? "\(paths) does not answer" : "these do not answer: \(paths)",
            advice: "see to its server or device, or unmount it: umount -l; findmnt -T \(first.path)")
    }

    /// Transfers that only a person can help: held back for taking the service down, or of which nothing can be read.
    func checkTransfers() async -> Finding {
        var held: [TaskID] = []
        var unreadable: [UnreadableTask] = []
        func collect(_ task: UnreadableTask) { unreadable.append(task) }
        do {
            try await invocation.service.forEachTask(TaskFilter(states: [.suspended]), unreadable: collect) { task in
                if task.wait?.reason == .serviceFault { held.append(task.id) }
            }
        } catch {
            return .warn("transfers", "the service does not list them")
        }
        if let first = unreadable.first {
            return .warn(
                "transfers", "\(Self.words(unreadable.map(\.id))) cannot be read: \(first.reason)",
                advice: "nightshift remove \(first.id)")
        }
        if let first = held.first {
            return .warn(
                "transfers", "\(Self.words(held)) took the service down and is held back",
                advice: "nightshift why \(first); to try it once more: nightshift resume \(first)")
        }
        return .ok("transfers", "none needs help")
    }

    private static func words(_ ids: [TaskID]) -> String {
        ids.count == 1 ? "task \(ids[0])" : "\(ids.count) tasks, the first of them \(ids[0]):"
    }
}
