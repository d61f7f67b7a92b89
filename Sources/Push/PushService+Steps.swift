import Clock
import Foundation
import Logging
import NightshiftAPI
import Store

/// Steps, from an input to what is on disk.
extension PushService {
    /// Has a step begin in its turn.
    func begin(alone: Bool = false) async {
        guard !turns.begin(alone: alone) else { return }
        await withCheckedContinuation { turns.add($0, alone: alone) }
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
        let (isWritten, told) = await step(input)
        await announce(told)
        return isWritten
    }

    private func step(
        _ input: (inout PushBook, inout UnifiedPushBook, Double) -> Void
    ) async -> (isWritten: Bool, told: Set<AppID>) {
        await begin()
        defer { turns.end() }
        // Before it was prepared, it reads what it needs; behind its end, the next one does.
        guard isPrepared, !isStopping else { return (false, []) }
        updateTrust()
        let now = reading.wallSeconds
        input(&book, &unified, now)
        Self.look(&book, &unified, now)
        followBook()
        for end in disconnections { book.noteDisconnected(end.why, end.time) }
        disconnections = []
        setAlarm()
        let told = book.takeTold()
        // No suspension before this: transactions have the order of what was decided.
        return (await save(), told)
    }

    /// A request: answered when it is on disk. Where it cannot be written, nothing has changed.
    func ask<Value>(
        _ input: (inout PushBook, inout UnifiedPushBook, Double) throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let (value, told) = try await change(input)
        if !disconnections.isEmpty { await tell { _, _ in } }
        await announce(told)
        return value
    }

    private func change<Value>(
        _ input: (inout PushBook, inout UnifiedPushBook, Double) throws(Problem) -> Value
    ) async throws(Problem) -> (value: Value, told: Set<AppID>) {
        await begin(alone: true)
        defer { turns.end() }
        guard isPrepared, !isStopping else { throw .unavailable("Remote notifications do not run.") }
        updateTrust()
        let now = reading.wallSeconds
        var (nextBook, nextUnified) = (book, unified)
        let value = try input(&nextBook, &nextUnified, now)
        Self.look(&nextBook, &nextUnified, now)
        let (changes, told) = (nextBook.takeChanges(), nextBook.takeTold())
        guard await write(changes, nextUnified.takeChanges()) else {
            throw .unavailable("It could not be written down; the log says why.")
        }
        (book, unified) = (nextBook, nextUnified)
        followBook()
        setAlarm()
        carryOut(changes)
        return (value, told)
    }

    private static func look(_ book: inout PushBook, _ unified: inout UnifiedPushBook, _ now: Double) {
        unified.look(now)
        for topic in unified.takeLeft() { book.leave(topic) }
        book.look(now)
    }

    private func announce(_ told: Set<AppID>) async {
        for app in told.sorted(by: { $0.rawValue < $1.rawValue }) {
            // As it is by now: of two changes the later one must not be told first.
            await environment.tell(app, book.notice(for: app) ?? PushNotice())
        }
    }

    /// Writes what was decided; what cannot be written is part of the next transaction.
    ///
    /// - Returns: whether it is on disk.
    @discardableResult
    func save() async -> Bool {
        let (changes, unifiedPush) = (book.takeChanges(), unified.takeChanges())
        guard await write(changes, unifiedPush) else {
            let now = reading.wallSeconds
            book.notWritten(changes, now: now)
            unified.notWritten(unifiedPush, now: now)
            setAlarm()
            return false
        }
        carryOut(changes)
        return true
    }

    /// What is on disk is done.
    private func carryOut(_ changes: PushChanges) {
        if !changes.alerts.isEmpty || !changes.releases.isEmpty { notify() }
        for request in unified.takeRequests() { environment.distribution?.perform(request) }
    }

    /// - Returns: whether it is on disk.
    private func write(_ changes: PushChanges, _ unifiedPush: UnifiedPushChanges) async -> Bool {
        guard !changes.isEmpty || !unifiedPush.isEmpty else { return true }
        let reading = reading
        do {
            try await environment.store.write { transaction in
                try Self.write(changes, transaction, reading)
                try Self.write(unifiedPush, transaction)
            }
            return true
        } catch {
            environment.logger.error("The store failed", metadata: ["error": "\(error)"])
            return false
        }
    }
}
