import Foundation
import Glibc

/// A running process as /proc shows it. Looking does not wake it.
struct ProcessView {
    let processID: pid_t

    /// User and system seconds so far, of all its threads, also of those that have ended.
    func cpu() throws -> Double {
        let stat = try text("stat")
        // The name in parentheses may hold spaces: fields are counted from behind it, where the third begins.
        guard let end = stat.lastIndex(of: ")") else { throw BenchError("/proc/\(processID)/stat is not understood") }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw BenchError("/proc/\(processID)/stat is not understood")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resident bytes now.
    func memory() throws -> Int64 { try number("VmRSS:", in: text("status")) * 1024 }

    /// The most resident bytes since the start or the last ``forgetPeak()``.
    func peakMemory() throws -> Int64 { try number("VmHWM:", in: text("status")) * 1024 }

    func forgetPeak() {
        try? "5".write(toFile: "/proc/\(processID)/clear_refs", atomically: false, encoding: .utf8)
    }

    /// How often its threads went to sleep and were woken, in all.
    func voluntarySwitches() throws -> Int64 {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/task").reduce(0) { sum, thread in
            // A thread may end between being listed and being read.
            guard let status = try? text("task/\(thread)/status") else { return sum }
            return sum + (try number("voluntary_ctxt_switches:", in: status))
        }
    }

    func threads() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/task").count
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "/proc/\(processID)/\(name)", encoding: .utf8)
    }

    /// The number of the line that begins with `key`.
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
