import Foundation
import TestSupport

/// What the kernel says of a process.
struct LiveProcess {
    let pid: Int32

    init(_ pid: Int32) {
        self.pid = pid
    }

    var isAlive: Bool { state.map { $0 != "Z" && $0 != "X" } ?? false }

    /// R, S, T, Z and so on; nil where there is none.
    var state: Character? { ProcessStat(pid)?.state }

    /// Clock ticks that it has had the processor.
    var ticks: Int { ProcessStat(pid)?.ticks ?? 0 }

    /// Whether it gets no processor time although it wants some, while another process gets ten ticks.
    func rests() async throws -> Bool {
        let (before, other) = (ticks, try BusyProcess())
        try await other.run(ticks: 10)
        return ticks == before
    }

    /// Whether the service holds it: frozen in its group, or stopped.
    var isFrozen: Bool {
        guard state != "T" else { return true }
        let line = (try? String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8))?
            .split(separator: "\n").first { $0.hasPrefix("0::") }
        guard let group = line?.dropFirst(3), let root = Self.root,
            let events = try? String(contentsOfFile: "\(root)\(group)/cgroup.events", encoding: .utf8)
        else { return false }
        return events.contains("frozen 1")
    }

    /// Where the unified hierarchy is mounted.
    private static let root: String? = {
        let mounts = (try? String(contentsOfFile: "/proc/mounts", encoding: .utf8)) ?? ""
        for line in mounts.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count > 2, words[2] == "cgroup2" { return String(words[1]) }
        }
        return nil
    }()
}
