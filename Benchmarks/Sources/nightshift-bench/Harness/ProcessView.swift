import Foundation
import Glibc

/// A running process, as shown by /proc. Reading does not wake the process.
struct ProcessView {
    let processID: pid_t

    /// Returns the user and system seconds so far of all threads, including those that have ended.
    func cpu() throws -> Double {
        let stat = try text("stat")
        // The name in parentheses may contain spaces. Fields are therefore counted from the end of the name, where the
        // third field begins.
        guard let end = stat.lastIndex(of: ")") else {
            throw BenchError("/proc/\(processID)/stat has an unknown format")
        }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw BenchError("/proc/\(processID)/stat has an unknown format")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Returns the current resident memory in bytes.
    func memory() throws -> Int64 { try number("VmRSS:", in: text("status")) * 1024 }

    /// Returns the peak of the resident memory in bytes since the start or the last ``forgetPeak()``.
    func peakMemory() throws -> Int64 { try number("VmHWM:", in: text("status")) * 1024 }

    func forgetPeak() {
        try? "5".write(toFile: "/proc/\(processID)/clear_refs", atomically: false, encoding: .utf8)
    }

    /// Returns the bytes that the process has read from files so far.
    func readBytes() throws -> Int64 {
        for line in try text("io").split(separator: "\n") where line.hasPrefix("rchar:") {
            if let bytes = line.split(separator: " ").last.flatMap({ Int64($0) }) { return bytes }
        }
        throw BenchError("no rchar in /proc/\(processID)/io")
    }

    /// Returns how often each thread went to sleep and was woken.
    func voluntarySwitches() throws -> [String: Int64] {
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/task")
        return try threads.reduce(into: [:]) { switches, thread in
            // A thread may end between being listed and being read.
            guard let status = try? text("task/\(thread)/status") else { return }
            switches[thread] = try number("voluntary_ctxt_switches:", in: status)
        }
    }

    /// Returns how often the threads were woken since `before`. Threads that have ended are not counted.
    func wakeUps(since before: [String: Int64]) throws -> Int64 {
        try voluntarySwitches().reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
    }

    func threads() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/task").count
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "/proc/\(processID)/\(name)", encoding: .utf8)
    }

    /// Returns the number in the line that begins with `key`.
    private func number(_ key: String, in status: String) throws -> Int64 {
        for line in status.split(separator: "\n") where line.hasPrefix(key) {
            if let value = line.dropFirst(key.count).split(whereSeparator: \.isWhitespace).first.flatMap({ Int64($0) })
            {
                return value
            }
        }
        throw BenchError("no \(key) in /proc/\(processID)")
    }
}
