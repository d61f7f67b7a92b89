import Foundation
import NightshiftAPI

/// A receiver of the progress of followed transfers, which shows it to people or programs. One ``Follower`` owns the
/// receiver and calls it in order.
protocol TransferReporter: Sendable {
    /// Reports that the service has accepted transfers.
    ///
    /// - Parameter joined: the ids in `ids` of transfers that already existed.
    mutating func accepted(_ ids: [TaskID], joined: [TaskID]) throws
    /// Reports a decision about a followed task. It is called before `task` changes.
    mutating func decided(_ entry: JournalEntry, task: FollowedTask) throws
    /// Reports a wait reason that was in no decision about the task.
    mutating func learned(_ task: FollowedTask) throws
    mutating func progressed(_ progress: TaskProgress) throws
    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) throws
    mutating func removed(_ task: FollowedTask) throws
    /// Reports that the connection to the service was lost or restored.
    mutating func connection(isLost: Bool) throws
    /// Redraws the display. It is called several times a second.
    mutating func tick(_ tasks: FollowedTasks)
    /// Erases the display. It is called once, at the end.
    mutating func finish(_ tasks: FollowedTasks)
}

extension TransferReporter {
    mutating func accepted(_ ids: [TaskID], joined: [TaskID]) {}
    mutating func decided(_ entry: JournalEntry, task: FollowedTask) {}
    mutating func learned(_ task: FollowedTask) {}
    mutating func progressed(_ progress: TaskProgress) {}
    mutating func removed(_ task: FollowedTask) {}
    mutating func connection(isLost: Bool) {}
    mutating func tick(_ tasks: FollowedTasks) {}
    mutating func finish(_ tasks: FollowedTasks) {}
}

/// An output for the paths of complete files, which the next program in a pipe reads from standard output.
///
/// If standard output is a terminal, paths are not written to it, because the lines of the reporters contain the paths.
/// For uploads, the server's response is written instead of paths.
struct PathOutput: Sendable {
    /// The output, or nil if standard output is used for something else.
    var output: Output?

    func ended(_ task: TaskStatus) {
        guard let output, !output.isTerminal, task.kind == .download, task.state == .completed, let file = task.file
        else { return }
        output.line(file)
    }
}

/// A reporter that prints only errors, for `--quiet`.
struct QuietReporter: TransferReporter {
    var paths: PathOutput
    var errors: Output

    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) {
        paths.ended(task)
        if task.state != .completed {
            errors.line("nightshift: \(task.id) \(TaskText.name(task)): \(TaskText.ending(task))")
        }
    }

    mutating func removed(_ task: FollowedTask) {
        errors.line("nightshift: \(task.id) \(task.name): removed from the list")
    }
}

/// A reporter that prints nothing, because the caller prints the results.
struct SilentReporter: TransferReporter {
    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) {}
}
