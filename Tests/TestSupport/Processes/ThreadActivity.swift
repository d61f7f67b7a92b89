import Foundation

/// The activity of this process's threads, according to the kernel. A test of idleness needs its own process.
package enum ThreadActivity {
    /// The state of one thread at one time.
    package struct Reading: Hashable, Sendable {
        package let name: String
        package let isAsleep: Bool
        /// The number of times the thread was scheduled.
        package let switches: Int
    }

    /// Returns the readings of all threads except the calling one and those in `others`, by ID.
    package static func read(besides others: Set<Int32> = []) -> [Int32: Reading] {
        let caller = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        let own = caller?.split(separator: "/").last.flatMap { Int32($0) }
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        var readings: [Int32: Reading] = [:]
        for thread in threads.compactMap({ Int32($0) }) where thread != own && !others.contains(thread) {
            readings[thread] = read(at: thread)
        }
        return readings
    }

    /// Returns the reading of a thread, or nil if the thread does not exist.
    package static func read(at thread: Int32) -> Reading? {
        guard let status = try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)
        else { return nil }
        var values: [Substring: Substring] = [:]
        for line in status.split(separator: "\n") {
            let words = line.split(separator: ":", maxSplits: 1)
            if words.count == 2 { values[words[0]] = words[1].drop { $0.isWhitespace } }
        }
        let switches = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"].compactMap { key in
            values[Substring(key)].flatMap { Int($0) }
        }
        return Reading(
            name: values["Name"].map(String.init) ?? "", isAsleep: values["State"]?.first == "S",
            switches: switches.reduce(0, +))
    }

    /// Blocks until all threads except those in `others` have been asleep for `duration` without a break, so that all
    /// started work is done. A thread that waits for a processor is not asleep.
    package static func blockUntilAsleep(for duration: Duration, besides others: Set<Int32> = []) throws {
        var last = read(besides: others)
        try blockUntil("threads that sleep") {
            blockThread(for: duration, because: "That nobody runs is seen only over time.")
            let next = read(besides: others)
            defer { last = next }
            return next == last && next.values.allSatisfy(\.isAsleep)
        }
    }
}
