import Foundation
import NightshiftAPI

/// Reports the progress of followed transfers to people or programs. One ``Follower`` owns it and calls it in order.
protocol TransferReporter: Sendable {
    /// - Parameter joined: those of `ids` that existed before.
    mutating func accepted(_ ids: [TaskID], joined: [TaskID]) throws
    /// Reports a decision about a followed task, before it changes `task`.
    mutating func decided(_ entry: JournalEntry, task: FollowedTask) throws
    /// Reports a wait reason that no decision about the task contains.
    mutating func learned(_ task: FollowedTask) throws
    mutating func progressed(_ progress: TaskProgress) throws
    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) throws
    mutating func removed(_ task: FollowedTask) throws
    /// Reports that the connection to the service was lost or restored.
    mutating func connection(isLost: Bool) throws
    /// Redraws the display. Called several times a second.
    mutating func tick(_ tasks: FollowedTasks)
    /// Erases the display. Called once, at the end.
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

/// Writes paths of complete files to standard output, for the next program in a pipe.
///
/// On a terminal the lines of the reporters contain the paths. For uploads the server's response is written there
/// instead.
struct PathOutput: Sendable {
    /// The output; nil if it is used for something else.
    var output: Output?

    func ended(_ task: TaskStatus) {
        guard let output, !output.isTerminal, task.kind == .download, task.state == .completed, let file = task.file
        else { return }
        output.line(file)
    }
}

/// Prints only errors: `--quiet`.
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

/// Prints nothing: the caller prints the results itself.
struct SilentReporter: TransferReporter {
    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) {}
}
