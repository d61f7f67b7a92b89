import Foundation

/// The kernel's information about a process or a thread at one instant.
package struct ProcessStat {
    /// The fields of `/proc/PID/stat` after the name, which may contain any characters. The third field of the manual
    /// is the first field here.
    package let fields: [Substring]

    /// - Parameter pid: the ID of a process or a thread. The result is nil if no such process or thread exists.
    package init?(_ pid: Int32) {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        fields = text[text.index(after: end)...].split(separator: " ")
    }

    /// The state, such as R, S, T or Z.
    package var state: Character? { fields.first?.first }

    /// The processor time that the process or thread has used, in clock ticks.
    package var ticks: Int {
        guard fields.count > 13 else { return 0 }
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
}
