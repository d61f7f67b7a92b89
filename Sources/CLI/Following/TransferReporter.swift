import Foundation
import NightshiftAPI

/// Tells a person or a program how followed transfers go. Owned by one ``Follower``, called in order.
protocol TransferReporter: Sendable {
    /// - Parameter joined: those of `ids` that were there before.
    mutating func accepted(_ ids: [TaskID], joined: [TaskID]) throws
    /// A decision about a followed task, before it changes `task`.
    mutating func decided(_ entry: JournalEntry, task: FollowedTask) throws
    /// It became known what a followed task waits for, where no decision about it says so.
    mutating func learned(_ task: FollowedTask) throws
    mutating func progressed(_ progress: TaskProgress) throws
    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) throws
    mutating func removed(_ task: FollowedTask) throws
    /// The connection to the service broke off, or is back.
    mutating func connection(isLost: Bool) throws
    /// Called a few times a second, for pictures.
    mutating func tick(_ tasks: FollowedTasks)
    /// Called once, last.
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

/// Paths of finished files on standard output, for the next program in a pipe.
///
/// On a terminal the reporters' own lines name them. Of an upload, the server's answer goes there.
struct PathOutput: Sendable {
    /// Nil where something else goes there.
    var output: Output?

    func ended(_ task: TaskStatus) {
        guard let output, !output.isTerminal, task.kind == .download, task.state == .completed, let file = task.file
        else { return }
        output.line(file)
    }
}

/// Says only what went wrong: `--quiet`.
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

/// Says nothing at all: the caller prints the results itself.
struct SilentReporter: TransferReporter {
    mutating func ended(_ task: TaskStatus, of tasks: FollowedTasks) {}
}
