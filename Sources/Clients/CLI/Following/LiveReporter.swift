import Foundation
import NightshiftAPI

/// A reporter that redraws a few lines at the bottom of a terminal. Lines about ended tasks scroll away above them.
struct LiveReporter: TransferReporter {
    var paths: PathOutput
    /// The terminal on which the lines are drawn.
    var screen: Output
    var now: @Sendable () -> Date

    /// The maximum number of tasks for which a line is printed when they complete. If there are more, the total counts
    /// them.
    private static let mostListed = 100
    /// The lines on the screen that will be redrawn.
    private var drawn: [String] = []
    private var notice: String?
    private var advice = FailureAdvice()

    init(paths: PathOutput, screen: Output, now: @escaping @Sendable () -> Date) {
        self.paths = paths
        self.screen = screen
        self.now = now
    }

    mutating func decided(_ entry: JournalEntry, task: FollowedTask) {
        switch entry.decision {
        case .held: tell(entry.error, task)
        case .restarted, .uploadRestarted: report("starting again", entry, task)
        case .mirrorDropped: report("a mirror is no longer used", entry, task)
        default: break
        }
    }

    private mutating func report(_ what: String, _ entry: JournalEntry, _ task: FollowedTask) {
        let reason = (entry.detail ?? entry.error?.message).map { ": " + TerminalText.escaped($0) } ?? ""
        printAbove(style.warning("\(task.name): \(what)\(reason)"))
    }

    mutating func learned(_ task: FollowedTask) {
        guard let reason = task.wait?.reason, FailureAdvice.waits.contains(reason) else { return }
        tell(task.failure, task)
    }

    private mutating func tell(_ failure: TransferFailure?, _ task: FollowedTask) {
        guard let failure, let advice = advice.next(failure, task: task.id) else { return }
        printAbove(style.warning("\(task.name): \(TaskText.full(failure))"))
        printAbove("  " + advice)
    }

    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) {
        paths.ended(task)
        if task.state == .completed {
            guard tasks.count <= Self.mostListed else { return }
            // The file of a download to standard output is in the service's directory and is removed later, so its path
            // is not printed.
            let place = (paths.output == nil ? nil : task.file).map { TerminalText.escaped($0) } ?? TaskText.name(task)
            printAbove("\(style.good(place)): \(TaskText.ending(task))")
        } else {
            printAbove(style.bad("\(task.id) \(TaskText.name(task)): \(TaskText.ending(task))"))
            if let advice = TaskText.advice(ended: task) { printAbove("  \(advice)") }
        }
    }

    mutating func removed(_ task: FollowedTask) {
        printAbove(style.bad("\(task.id) \(task.name): removed from the list"))
    }

    mutating func connection(isLost: Bool) {
        notice = isLost ? "The connection to the service was lost. Reconnecting." : nil
    }

    mutating func tick(_ tasks: FollowedTasks) {
        let lines = TransferView(size: screen.size(), style: style, now: now()).lines(tasks, notice: notice)
        guard lines != drawn else { return }
        screen.write(erase() + lines.map { $0 + "\n" }.joined())
        drawn = lines
    }

    mutating func finish(_ tasks: FollowedTasks) {
        screen.write(erase())
        drawn = []
        if tasks.count > 1 {
            screen.line(TransferView(size: screen.size(), style: style, now: now()).total(tasks))
        }
    }

    private var style: Style { Style(isEnabled: screen.allowsColor) }

    private mutating func printAbove(_ line: String) {
        screen.write(erase() + line + "\n")
        drawn = []
    }

    /// Returns the control sequences that erase the lines that were drawn.
    private func erase() -> String {
        drawn.isEmpty ? "" : "\u{1b}[\(drawn.count)A\r\u{1b}[J"
    }
}
