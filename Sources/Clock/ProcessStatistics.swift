import Foundation
package import Glibc

/// What `/proc/PID/stat` says of a process (proc_pid_stat(5)).
package struct ProcessStatistics: Hashable, Sendable {
    /// `R`, `S`, `D`, `T`, `Z` and so on.
    package let state: Character
    package let parent: pid_t
    /// The process group.
    package let group: pid_t
    /// Clock ticks after boot.
    package let startTime: UInt64

    package var isStopped: Bool { state == "T" || state == "t" }
    /// It has ended, and nobody has asked for its status yet.
    package var isZombie: Bool { state == "Z" || state == "X" }

    /// Nil where there is no such process.
    package init?(of process: pid_t) {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return nil }
        self.init(parsing: text)
    }

    /// - Parameter text: the file's content.
    package init?(parsing text: String) {
        // The program's name, in parentheses, may contain spaces and parentheses.
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[text.utf8.index(after: end)...].split(separator: " ")
        // Numbered from 3 in the manual: state is 3, starttime 22.
        guard fields.count > 19, let state = fields[0].first, let parent = pid_t(fields[1]),
            let group = pid_t(fields[2]), let startTime = UInt64(fields[19])
        else { return nil }
        self.state = state
        self.parent = parent
        self.group = group
        self.startTime = startTime
    }
}
