import Foundation
import NightshiftAPI

/// The lines of `nightshift list`. The columns have fixed widths, so that a million tasks can be printed page by page.
///
/// The name is the last column. In a narrow window, the less important columns are left out to make space for the name.
struct TaskTable {
    var columns: Int
    var style: Style

    /// The minimum width of the name in columns.
    private static let narrowestName = 16

    private enum Column: CaseIterable {
        case id, state, done, size, rate, left

        var title: String {
            switch self {
            case .id: "ID"
            case .state: "STATE"
            case .done: "DONE"
            case .size: "SIZE"
            case .rate: "RATE"
            case .left: "LEFT"
            }
        }

        var width: Int {
            switch self {
            case .id: 6
            case .state: 9
            case .done: 8
            case .size: 9
            case .rate: 11
            case .left: 8
            }
        }

        /// The columns that may be left out, in the order in which they are left out.
        static let dispensable: [Column] = [.left, .rate, .size, .done, .state]
    }

    private static let gap = "  "

    private var shown: [Column] {
        var shown = Column.allCases
        for column in Column.dispensable where columns - Self.width(shown) < Self.narrowestName {
            shown.removeAll { $0 == column }
        }
        return shown
    }

    var header: String {
        TerminalText.clipped(row("NAME") { $0.title }, to: columns)
    }

    func line(_ task: TaskStatus, times: TimeText) -> String {
        let done = task.kind == .upload ? task.countOfBytesSent : task.countOfBytesReceived
        let total = task.kind == .upload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
        let rate = task.state == .running ? task.bytesPerSecond ?? 0 : 0
        let left = QuantityText.secondsLeft(done: done, of: total, bytesPerSecond: rate)
        let name = TerminalText.shortened(TaskText.name(task), to: max(1, columns - Self.width(shown)))
        let text = row(name + (note(task, times: times).map { "  (\($0))" } ?? "")) { column in
            switch column {
            case .id: String(task.id.rawValue)
            case .state: task.state.name
            case .done: QuantityText.percent(done: done, of: total).map { "\($0)%" } ?? QuantityText.size(done)
            case .size: total >= 0 ? QuantityText.size(total) : "?"
            case .rate: rate > 0 ? QuantityText.rate(rate) : "-"
            case .left: left.map { QuantityText.countdown($0) } ?? "-"
            }
        }
        let clipped = TerminalText.clipped(text, to: columns)
        switch task.state {
        case .failed: return style.bad(clipped)
        case .completed: return style.good(clipped)
        case .suspended, .cancelled: return style.faint(clipped)
        case .waiting, .running, .finishing: return clipped
        }
    }

    /// Returns text about the wait reason or the error of a transfer, or about the traffic that it yields to.
    private func note(_ task: TaskStatus, times: TimeText) -> String? {
        switch task.state {
        case .waiting:
            // If the column with the state is shown, the text does not repeat the state.
            String(
                TaskText.waiting(task.wait, lastError: task.lastError, now: times.now)
                    .trimmingPrefix(shown.contains(.state) ? "waiting: " : ""))
        case .failed: task.error.map { TaskText.phrase($0) } ?? "failed"
        case .suspended where task.wait?.reason == .serviceFault: WaitReason.serviceFault.wording.short
        case .running: task.yielding.flatMap { $0.isYielding ? "yields to other traffic" : nil }
        case .suspended, .finishing, .completed, .cancelled: nil
        }
    }

    /// Returns the width of the columns before the name, including the gaps between them.
    private static func width(_ shown: [Column]) -> Int {
        shown.reduce(0) { $0 + $1.width + gap.count }
    }

    private func row(_ name: String, _ text: (Column) -> String) -> String {
        let cells = shown.map { column in
            column == .state
                ? TerminalText.padded(text(column), to: column.width)
                : TerminalText.rightAligned(text(column), to: column.width)
        }
        return (cells + [name]).joined(separator: Self.gap)
    }
}
