import Foundation
import NightshiftAPI

/// The lines of `nightshift list`: fixed columns, so that a million tasks can be printed page by page.
struct TaskTable {
    var columns: Int
    var style: Style

    static let header = row("ID", "STATE", "DONE", "SIZE", "RATE", "LEFT", "NAME")

    func line(_ task: TaskStatus, times: TimeText) -> String {
        let done = task.kind == .upload ? task.countOfBytesSent : task.countOfBytesReceived
        let total = task.kind == .upload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
        let rate = task.state == .running ? task.bytesPerSecond ?? 0 : 0
        let left = QuantityText.secondsLeft(done: done, of: total, bytesPerSecond: rate)
        var name = TaskText.name(task)
        switch task.state {
        case .waiting:
            name += "  (" + TaskText.waiting(task.wait, lastError: task.lastError, now: times.now) + ")"
        case .failed:
            name += "  (" + (task.error.map { TaskText.phrase($0) } ?? "failed") + ")"
        case .suspended where task.wait?.reason == .serviceFault:
            name += "  (held back: it takes the service down)"
        case .suspended, .running, .finishing, .completed, .cancelled:
            break
        }
        let text = Self.row(
            String(task.id.rawValue), task.state.rawValue,
            QuantityText.percent(done: done, of: total).map { "\($0)%" } ?? QuantityText.size(done),
            total >= 0 ? QuantityText.size(total) : "?", rate > 0 ? QuantityText.rate(rate) : "-",
            left.map { QuantityText.countdown($0) } ?? "-", name)
        let clipped = TerminalText.clipped(text, to: columns)
        switch task.state {
        case .failed: return style.bad(clipped)
        case .completed: return style.good(clipped)
        case .suspended, .cancelled: return style.faint(clipped)
        case .waiting, .running, .finishing: return clipped
        }
    }

    private static func row(
        _ id: String, _ state: String, _ done: String, _ size: String, _ rate: String, _ left: String, _ name: String
    ) -> String {
        [
            TerminalText.rightAligned(id, to: 6), TerminalText.padded(state, to: 9),
            TerminalText.rightAligned(done, to: 8), TerminalText.rightAligned(size, to: 9),
            TerminalText.rightAligned(rate, to: 11), TerminalText.rightAligned(left, to: 8), name,
        ].joined(separator: "  ")
    }
}
