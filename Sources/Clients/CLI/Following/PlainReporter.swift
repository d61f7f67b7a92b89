import Foundation
import NightshiftAPI

/// A reporter that prints one line per event, for logs and for terminals that cannot be redrawn.
struct PlainReporter: TransferReporter {
    var paths: PathOutput
    var errors: Output
    var now: @Sendable () -> Date
    private var advice = FailureAdvice()

    init(paths: PathOutput, errors: Output, now: @escaping @Sendable () -> Date) {
        self.paths = paths
        self.errors = errors
        self.now = now
    }

    mutating func decided(_ entry: JournalEntry, task: FollowedTask) {
        let head = "\(task.id) \(task.name): "
        switch entry.decision {
        case .started: errors.line(head + "started")
        case .continued: errors.line(head + "continued" + particulars(entry))
        case .restarted, .uploadRestarted: errors.line(head + "starting again" + particulars(entry))
        case .suspended: errors.line(head + "paused")
        case .mirrorDropped: errors.line(head + "a mirror is no longer used" + particulars(entry))
        case .held:
            tell(entry.wait, entry.error ?? task.lastError, task)
        default: break
        }
    }

    mutating func learned(_ task: FollowedTask) {
        tell(task.wait, task.failure, task)
    }

    private mutating func tell(_ wait: Wait?, _ failure: TransferFailure?, _ task: FollowedTask) {
        guard let reason = wait?.reason, Self.worthTelling.contains(reason) else { return }
        errors.line("\(task.id) \(task.name): \(TaskText.waiting(wait, lastError: failure, now: now()))")
        guard FailureAdvice.waits.contains(reason) else { return }
        if let failure, let advice = advice.next(failure, task: task.id) {
            errors.line("  \(TaskText.full(failure))")
            errors.line("  \(advice)")
        }
    }

    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) {
        paths.ended(task)
        // The file of a download to standard output is in the service's directory and is removed later, so its path is
        // not printed.
        let place = (paths.output == nil ? nil : task.file).map { TerminalText.escaped($0) } ?? TaskText.name(task)
        errors.line("\(task.id) \(task.state == .completed ? place : TaskText.name(task)): \(TaskText.ending(task))")
        if let advice = TaskText.advice(ended: task) { errors.line("  \(advice)") }
    }

    mutating func removed(_ task: FollowedTask) {
        errors.line("\(task.id) \(task.name): removed from the list")
    }

    mutating func connection(isLost: Bool) {
        errors.line(
            isLost ? "The connection to the service was lost. Reconnecting." : "The service is connected again.")
    }

    private func particulars(_ entry: JournalEntry) -> String {
        (entry.detail ?? entry.error?.message).map { ": " + TerminalText.escaped($0) } ?? ""
    }

    /// The wait reasons that concern the network or this machine. Other waits are normal in a queue and are not
    /// printed.
    private static let worthTelling: Set<WaitReason> = [
        .beginDate, .retry, .retryAfter, .hostBackoff, .network, .diskSpace,
    ]
}
