package import Clock
package import Logging
package import NightshiftAPI
package import Store

/// The book of an actor, its way to the disk, and whose turn it is with it.
///
/// What the world tells changes it at once, many transactions overlapping; what could not be written is part of the next one. What
/// somebody asks for is decided alone, on a copy, which takes the book's place once it is on disk: where it cannot be written,
/// nothing has changed. Nobody changes the book but in a turn. See `docs/decisions/0002`.
///
/// Belongs to the actor that has made it, on which all its methods and what they are given run.
package final class KeptBook<Kept: Book> {
    package private(set) var book: Kept
    private var life = Life.new
    private var turns = StepTurns()
    /// Whether a step's hook is being called.
    private var isHooked = false
    private let store: Store
    private let clock: any ServiceClock
    private let now: () -> Kept.Moment
    private let closed: String
    private let logger: Logger

    private enum Life {
        case new
        case open
        case closed
    }

    /// What is to be done behind a step.
    package struct Step {
        package var effects: [Kept.Effect] = []
        /// Whether all of it is on disk.
        package var isWritten = false
    }

    /// What is done within each step.
    package struct Hooks {
        /// It was decided, or a decision could not be written: what the book wants of clocks and of the world, which does not have
        /// to be on disk. May use ``KeptBook/take(_:)``.
        package var decided: () -> Void
        /// This is on disk. May use ``KeptBook/take(_:)``, too.
        package var written: (Kept.Changes) -> Void

        package init(decided: @escaping () -> Void = {}, written: @escaping (Kept.Changes) -> Void = { _ in }) {
            self.decided = decided
            self.written = written
        }
    }

    /// - Parameter closed: the sentence for whoever asks for something while the book is not open.
    package init(
        _ book: Kept, store: Store, clock: any ServiceClock, closed: String, logger: Logger,
        now: @escaping () -> Kept.Moment
    ) {
        self.book = book
        self.store = store
        self.clock = clock
        self.closed = closed
        self.logger = logger
        self.now = now
    }

    // MARK: - Life

    /// Whether it was read, and its owner does not stop.
    package var isOpen: Bool { life == .open }
    package var isNew: Bool { life == .new }
    package var isClosed: Bool { life == .closed }
    /// For whoever asks for something of one that is not open.
    package var refusal: Problem { .unavailable(closed) }

    /// The book as it was read takes the place of the one that was there before; what reading it has changed is written.
    ///
    /// - Parameter written: that is on disk.
    package func open(_ book: Kept, written: @escaping (Kept.Changes) -> Void = { _ in }) async {
        await begin()
        defer { turns.end() }
        guard life == .new else { return }
        self.book = book
        life = .open
        await save(Hooks(written: written))
    }

    /// Its owner stops: the next one decides what comes from here on.
    package func close() { life = .closed }

    // MARK: - Steps

    /// Tells it what has happened, has it decide, and writes that.
    ///
    /// - Returns: nothing to do for a book that is not open: before that, it reads what it needs, and behind that, the next one does.
    package func step(_ input: (inout Kept, Kept.Moment) -> Void, _ hooks: Hooks) async -> Step {
        await begin()
        defer { turns.end() }
        guard isOpen else { return Step() }
        let now = now()
        input(&book, now)
        book.look(now)
        call { hooks.decided() }
        let effects = book.takeEffects()
        // No suspension before this: transactions have the order of what was decided.
        return Step(effects: effects, isWritten: await save(hooks))
    }

    /// Changes what somebody has asked for. Where it cannot be written, nothing has changed.
    ///
    /// - Throws: what `input` throws; 503 for a book that is not open, and where the disk has failed.
    package func change<Value>(
        _ input: (inout Kept, Kept.Moment) throws(Problem) -> Value, _ hooks: Hooks
    ) async throws(Problem) -> (value: Value, effects: [Kept.Effect]) {
        await begin(alone: true)
        defer { turns.end() }
        guard isOpen else { throw refusal }
        let now = now()
        var next = book
        let value = try input(&next, now)
        next.look(now)
        let (changes, effects) = (next.takeChanges(), next.takeEffects())
        guard await write(changes, leavesOutRefused: false) else {
            throw .unavailable("It could not be written down; the log says why.")
        }
        book = next
        call {
            hooks.decided()
            hooks.written(changes)
        }
        return (value, effects)
    }

    /// Tells it something of which nothing follows before the next step, open or not.
    package func note<Value>(_ input: (inout Kept) -> Value) async -> Value {
        // Not while a change is being written, which would take the place of it.
        await begin()
        defer { turns.end() }
        return input(&book)
    }

    /// Takes something out of the book within a step: for its ``Hooks``.
    package func take<Value>(_ input: (inout Kept) -> Value) -> Value {
        precondition(isHooked, "The book is changed out of turn.")
        return input(&book)
    }

    /// Writes what has waited for another reason to be written; also behind ``close()``.
    package func flush(_ input: (inout Kept) -> Void) async {
        await begin()
        defer { turns.end() }
        input(&book)
        await save(Hooks())
    }

    /// Returns when everything that was decided is on disk, or could not be written: for who shows nothing else.
    package func written() async {
        while turns.areUnderWay { await withCheckedContinuation { turns.add($0) } }
    }

    /// Whether a step is not on disk yet.
    package var isBeingWritten: Bool { turns.areUnderWay }

    private func begin(alone: Bool = false) async {
        guard !turns.begin(alone: alone) else { return }
        await withCheckedContinuation { turns.add($0, alone: alone) }
    }

    private func call(_ hook: () -> Void) {
        isHooked = true
        hook()
        isHooked = false
    }

    // MARK: - The disk

    /// - Returns: whether it is on disk.
    @discardableResult
    private func save(_ hooks: Hooks) async -> Bool {
        let changes = book.takeChanges()
        guard await write(changes, leavesOutRefused: true) else {
            book.notWritten(changes, now: now())
            call { hooks.decided() }
            return false
        }
        call { hooks.written(changes) }
        return true
    }

    /// - Parameter leavesOutRefused: a row that the schema refuses, now and at any time, does not keep the others from the disk.
    private func write(_ changes: Kept.Changes, leavesOutRefused: Bool) async -> Bool {
        guard !changes.isEmpty else { return true }
        let reading = clock.now()
        do {
            let refusals = try await store.write { transaction -> [StoreError] in
                let refusal = try transaction.attempt {
                    try changes.write(in: transaction, at: reading) { row in try row() }
                }
                guard let refusal else { return [] }
                guard leavesOutRefused else { throw refusal }
                var refusals: [StoreError] = []
                try changes.write(in: transaction, at: reading) { row in
                    if let refusal = try transaction.attempt(row) { refusals.append(refusal) }
                }
                return refusals
            }
            for refusal in refusals {
                logger.critical(
                    "The store has refused a row for good; it is left out", metadata: ["error": "\(refusal)"])
            }
            return true
        } catch {
            logger.error("The store failed", metadata: ["error": "\(error)"])
            return false
        }
    }
}
