import Foundation
import NightshiftAPI

/// The lines of the live display: one line per transfer as long as the terminal has space, and a line with the total.
struct TransferView: Sendable {
    var size: TerminalSize
    var style: Style
    var now: Date

    /// The maximum number of tasks whose waiting tasks are sorted. If there are more, they are only counted, because
    /// sorting them for each redraw would take too long.
    private static let mostSorted = 1_000

    func lines(_ tasks: FollowedTasks, notice: String? = nil) -> [String] {
        // One row stays free for the cursor, one for the total, and one for a notice.
        let hasTotal = tasks.count > 1
        let room = max(1, size.rows - 1 - (hasTotal ? 1 : 0) - (notice == nil ? 0 : 1))
        var lines = shown(tasks, room: room).map { line($0) }
        if hasTotal { lines.append(TerminalText.clipped(total(tasks), to: columns)) }
        if let notice { lines.append(style.warning(TerminalText.clipped(notice, to: columns))) }
        return lines
    }

    func line(_ task: FollowedTask) -> String {
        let nameColumns = max(8, min(40, columns / 3))
        let name = TerminalText.padded(TerminalText.shortened(task.name, to: nameColumns), to: nameColumns)
        let percent = QuantityText.percent(done: task.done, of: task.total)
        var text = name + " " + TerminalText.rightAligned(percent.map { "\($0)%" } ?? "", to: 4) + " "
        switch task.state {
        case .running:
            let left = QuantityText.secondsLeft(done: task.done, of: task.total, bytesPerSecond: task.bytesPerSecond)
            let rateAndTime =
                TerminalText.rightAligned(QuantityText.rate(task.bytesPerSecond), to: 11) + " "
                + TerminalText.rightAligned(left.map { QuantityText.countdown($0) } ?? "", to: 7)
            let size = TerminalText.rightAligned(QuantityText.size(task.done), to: 9) + " "
            // A narrow window shows only the percentage.
            let isNarrow = TerminalText.width(text + size + rateAndTime) > columns
            let numbers = (isNarrow && percent != nil ? "" : size) + rateAndTime
            let barColumns = min(40, columns - TerminalText.width(text) - TerminalText.width(numbers) - 1)
            if barColumns >= 8, task.total > 0 {
                text += QuantityText.bar(done: task.done, of: task.total, columns: barColumns) + " "
            }
            return TerminalText.clipped(text + numbers, to: columns)
        case .waiting:
            return coloured(text, TaskText.waiting(task.wait, lastError: task.lastError, now: now)) {
                task.failure == nil ? style.faint($0) : style.warning($0)
            }
        case .suspended: return coloured(text, "paused (nightshift resume \(task.id))") { style.faint($0) }
        case .finishing, .completed, .failed, .cancelled:
            return coloured(text, task.state.wording(task.kind).short) { $0 }
        }
    }

    func total(_ tasks: FollowedTasks) -> String {
        let running = tasks.active.compactMap { tasks.pending[$0] }
        var parts = ["\(tasks.completed) of \(tasks.count) completed"]
        if tasks.failed > 0 { parts.append("\(tasks.failed) ended incomplete") }
        if !running.isEmpty { parts.append("\(running.count) running") }
        let waiting = tasks.pending.count - running.count
        if waiting > 0 { parts.append("\(waiting) waiting") }
        parts.append(QuantityText.size(tasks.bytesOfEnded + running.reduce(0) { $0 + $1.done }))
        let rate = running.reduce(0) { $0 + $1.bytesPerSecond }
        if rate > 0 { parts.append(QuantityText.rate(rate)) }
        return parts.joined(separator: ", ")
    }

    /// The width of a line. The last column stays free, because a terminal may wrap a line that fills it.
    private var columns: Int { max(20, size.columns - 1) }

    private func shown(_ tasks: FollowedTasks, room: Int) -> [FollowedTask] {
        var shown = tasks.active.sorted().prefix(room).compactMap { tasks.pending[$0] }
        if shown.count < room, tasks.pending.count <= Self.mostSorted {
            let others = tasks.pending.values.filter { !tasks.active.contains($0.id) }
            // Failed tasks come first, because the user may want to act on them.
            shown += others.sorted { left, right in
                (left.lastError == nil ? 1 : 0, left.id) < (right.lastError == nil ? 1 : 0, right.id)
            }.prefix(room - shown.count)
        }
        return shown.sorted { $0.id < $1.id }
    }

    private func coloured(_ head: String, _ words: String, _ color: (String) -> String) -> String {
        head + color(TerminalText.clipped(words, to: max(0, columns - TerminalText.width(head))))
    }
}
