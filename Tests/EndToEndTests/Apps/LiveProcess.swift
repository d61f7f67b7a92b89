import Foundation
import TestSupport

/// The kernel's information about a process.
struct LiveProcess {
    let pid: Int32

    init(_ pid: Int32) {
        self.pid = pid
    }

    var isAlive: Bool { state.map { $0 != "Z" && $0 != "X" } ?? false }

    /// The state of the process, such as R, S, T or Z; nil if there is no such process.
    var state: Character? { ProcessStat(pid)?.state }

    /// The number of clock ticks of processor time that the process has used.
    var ticks: Int { ProcessStat(pid)?.ticks ?? 0 }

    /// Returns whether the process, although runnable, gets no processor time while another process gets ten ticks.
    func rests() async throws -> Bool {
        let (before, other) = (ticks, try BusyProcess())
        try await other.run(ticks: 10)
        return ticks == before
    }

    /// Whether the service has suspended the process: frozen in its cgroup, or stopped.
    var isFrozen: Bool {
        guard state != "T" else { return true }
        let line = (try? String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8))?
            .split(separator: "\n").first { $0.hasPrefix("0::") }
        guard let group = line?.dropFirst(3), let root = Self.root,
            let events = try? String(contentsOfFile: "\(root)\(group)/cgroup.events", encoding: .utf8)
        else { return false }
        return events.contains("frozen 1")
    }

    /// The mount point of the unified cgroup hierarchy.
    private static let root: String? = {
        let mounts = (try? String(contentsOfFile: "/proc/mounts", encoding: .utf8)) ?? ""
        for line in mounts.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count > 2, words[2] == "cgroup2" { return String(words[1]) }
        }
        return nil
    }()
}
