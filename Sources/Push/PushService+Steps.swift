import Books
import NightshiftAPI

/// Steps, from an input to what is on disk.
extension PushService {
    private var hooks: KeptBook<PushBooks>.Hooks {
        KeptBook.Hooks(
            decided: {
                self.followBook()
                self.setAlarm()
            }, written: { self.carryOut($0) })
    }

    /// An input that nobody waits for.
    func tell(_ input: (inout PushBook, Double) -> Void) async {
        await settle { book, _, now in input(&book, now) }
    }

    /// Gives the books an input, decides, and carries out what follows from it.
    ///
    /// - Returns: whether all of it is on disk.
    @discardableResult
    func settle(_ input: (inout PushBook, inout UnifiedPushBook, Double) -> Void) async -> Bool {
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

    /// A request: answered when it is on disk. Where it cannot be written, nothing has changed.
    func ask<Value>(
        _ input: (inout PushBook, inout UnifiedPushBook, Double) throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let (value, told) = try await kept.change(
            { (books, now) throws(Problem) in
                books.trustsClock = trustsClock
                return try input(&books.pushes, &books.unified, now)
            }, hooks)
        await finish(told)
        return value
    }

    /// What is left to do behind a step.
    private func finish(_ told: [AppID]) async {
        // The step has ended a connection.
        if kept.isOpen, !disconnections.isEmpty { await tell { _, _ in } }
        for app in told {
            // As it is by now: of two changes the later one must not be told first.
            await environment.tell(app, book.notice(for: app) ?? PushNotice())
        }
    }

    /// What is on disk is done.
    private func carryOut(_ changes: PushBooks.Changes) {
        notify(of: changes.pushes)
        guard changes.unified.connection == unified.connection else { return }
        for request in changes.unified.requests { environment.distribution?.perform(request) }
    }
}
