import Foundation
import NightshiftAPI

/// An operation that follows tasks until they have ended, or until the user presses ^C.
struct Following: Sendable {
    var invocation: Invocation
    var tasks: FollowedTasks
    /// The last journal entry before the state of `tasks`; nil if their state is unknown.
    var lastEntry: Int64?
    var reporter: any TransferReporter
    /// Whether the tasks continue after ^C.
    var leavesTasks = true

    private static let picturesPerSecond = 5

    func run() async throws -> (status: ExitStatus, tasks: FollowedTasks) {
        let follower = Follower(
            service: invocation.service, reporter: reporter, tasks: tasks, lastEntry: lastEntry, now: invocation.now)
        let signals = InterruptSignals()
        defer { withExtendedLifetime(signals) {} }
        let interrupts = signals.stream
        let isInterrupted: Bool
        do {
            isInterrupted = try await follow(follower, interrupts)
        } catch {
            await follower.finish()
            throw error
        }
        await follower.finish()
        let tasks = await follower.snapshot
        if isInterrupted {
            if leavesTasks { printHowToResume(tasks) }
            return (.interrupted, tasks)
        }
        return (tasks.failed == 0 ? .whole : .failed, tasks)
    }

    /// Follows the tasks, and returns true if a signal arrived before they ended.
    private func follow(_ follower: Follower, _ interrupts: AsyncStream<Void>) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool?.self) { group in
            group.addTask {
                try await follower.run()
                return false
            }
            group.addTask {
                for await _ in interrupts { return true }
                return nil
            }
            group.addTask {
                while !Task.isCancelled {
                    try await follower.tick()
                    try await Task.sleep(for: .milliseconds(1_000 / Self.picturesPerSecond))
                }
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            return false
        }
    }

    private func printHowToResume(_ tasks: FollowedTasks) {
        // A long list of numbers would not help the user.
        let ids = TaskRange.text(tasks.pending.keys)
        let isShort = ids.count <= 60
        invocation.errors.lines([
            (tasks.pending.count == 1 ? "The transfer continues" : "The transfers continue") + " in the background.",
            "To follow again: nightshift watch" + (isShort ? " " + ids : ""),
            "To cancel:       nightshift cancel " + (isShort ? ids : "ID..."),
        ])
    }
}

extension Invocation {
    /// Returns the reporter that fits the options and the type of standard error.
    ///
    /// - Parameter showsPaths: whether the paths of complete files go to standard output.
    func reporter(json: Bool, quiet: Bool, showsPaths: Bool = true) -> any TransferReporter {
        if json { return JSONReporter(output: output, isQuiet: quiet) }
        let paths = PathOutput(output: showsPaths ? output : nil)
        if quiet { return QuietReporter(paths: paths, errors: errors) }
        if errors.isTerminal { return LiveReporter(paths: paths, screen: errors, now: now) }
        return PlainReporter(paths: paths, errors: errors, now: now)
    }
}
