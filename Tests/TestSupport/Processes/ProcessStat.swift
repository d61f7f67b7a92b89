import Foundation

/// What the kernel says of a process, or of a thread: of a moment.
package struct ProcessStat {
    /// The fields of `/proc/PID/stat` behind the name, which may hold anything: the third of the manual is the first here.
    package let fields: [Substring]

    /// - Parameter pid: of a process or of a thread; nil where there is none.
    package init?(_ pid: Int32) {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        fields = text[text.index(after: end)...].split(separator: " ")
    }

    /// R, S, T, Z and so on.
    package var state: Character? { fields.first?.first }

    /// Clock ticks that it has had the processor.
    package var ticks: Int {
        guard fields.count > 13 else { return 0 }
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
}
