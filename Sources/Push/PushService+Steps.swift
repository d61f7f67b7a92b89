import Books
import NightshiftAPI

/// The steps of the push service. A step applies an input to the states and writes the changes to disk.
extension PushService {
    private var hooks: StateRunner<PushStates>.Hooks {
        StateRunner.Hooks(
            decided: {
                self.followBook()
                self.setAlarm()
            }, written: { self.carryOut($0) })
    }

    /// Performs a step whose input has no waiting caller.
    func tell(_ input: (inout PushState, Double) -> Void) async {
        await settle { book, _, now in input(&book, now) }
    }

    /// Applies an input to the states, decides, and executes the effects.
    ///
    /// - Returns: whether all changes are on disk.
    @discardableResult
    func settle(_ input: (inout PushState, inout UnifiedPushState, Double) -> Void) async -> Bool {
        let step = await kept.step(
            { books, now in
                books.trustsClock = trustsClock
                input(&books.pushes, &books.unified, now)
                for end in disconnections { books.pushes.noteDisconnected(end.why, end.time) }
                disconnections = []
            }, hooks)
        await finish(step.effects)
        return step.isWritten
    }

    /// Performs a request, and returns when its changes are on disk. If they cannot be written, nothing has changed.
    func ask<Value>(
        _ input: (inout PushState, inout UnifiedPushState, Double) throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let (value, told) = try await kept.change(
            { (books, now) throws(Problem) in
                books.trustsClock = trustsClock
                return try input(&books.pushes, &books.unified, now)
            }, hooks)
        await finish(told)
        return value
    }

    /// Executes the remaining effects of a step.
    private func finish(_ told: [AppID]) async {
        // The step has ended a connection. Another step records this end.
        if kept.isOpen, !disconnections.isEmpty { await tell { _, _ in } }
        for app in told {
            // The current state is sent, because the notices of two changes could arrive in the wrong order.
            await environment.tell(app, book.notice(for: app) ?? PushNotice())
        }
    }

    /// Executes the effects of changes that are on disk.
    private func carryOut(_ changes: PushStates.Changes) {
        notify(of: changes.pushes)
        guard changes.unified.connection == unified.connection else { return }
        for request in changes.unified.requests { environment.distribution?.perform(request) }
    }
}
