package import Clock
package import Logging
package import NightshiftAPI
package import Store

/// The runner of an actor's state. It orders the steps on the state, and writes the changes to disk.
///
/// Events change the state at once, and their transactions may overlap. Changes that could not be written become part
/// of the next transaction. A request runs alone, on a copy of the state. The copy replaces the state when its changes
/// are on disk. If they cannot be written, the state stays unchanged. The state changes only in steps. See
/// `docs/decisions/0002`.
///
/// All methods and their closures run on the actor that created the runner.
package final class StateRunner<Kept: RunnerState> {
    package private(set) var book: Kept
    private var life = Life.new
    private var turns = StepTurns()
    /// Whether a hook of a step is running.
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

    /// The result of a step.
    package struct Step {
        package var effects: [Kept.Effect] = []
        /// Whether all changes are on disk.
        package var isWritten = false
    }

    /// Closures that run as part of each step.
    package struct Hooks {
        /// A closure that runs after a decision or a failed write. It applies what the state needs from timers and
        /// other features, and does not require that the changes are on disk. It may call ``StateRunner/take(_:)``.
        package var decided: () -> Void
        /// A closure that runs when the changes are on disk. It may also call ``StateRunner/take(_:)``.
        package var written: (Kept.Changes) -> Void

        package init(decided: @escaping () -> Void = {}, written: @escaping (Kept.Changes) -> Void = { _ in }) {
            self.decided = decided
            self.written = written
        }
    }

    /// Creates a runner that is not yet open.
    ///
    /// - Parameter closed: the error message for requests while the runner is not open.
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

    // MARK: - Lifecycle

    /// Whether the state was read and its owner is not stopping.
    package var isOpen: Bool { life == .open }
    package var isNew: Bool { life == .new }
    package var isClosed: Bool { life == .closed }
    /// The error for requests while the runner is not open.
    package var refusal: Problem { .unavailable(closed) }

    /// Opens the runner with the state that was read, and writes the changes that reading it caused.
    ///
    /// - Parameter written: a closure that is called when these changes are on disk.
    package func open(_ book: Kept, written: @escaping (Kept.Changes) -> Void = { _ in }) async {
        await begin()
        defer { turns.end() }
        guard life == .new else { return }
        self.book = book
        life = .open
        await save(Hooks(written: written))
    }

    /// Closes the runner because its owner stops. Later events are handled after the next start.
    package func close() { life = .closed }

    // MARK: - Steps

    /// Applies an event, decides, and writes the changes.
    ///
    /// - Returns: an empty step if the runner is not open. The event is not lost: an event before the opening is part
    ///   of the stored state that is read then, and an event after the closing is handled by the next run of the
    ///   service.
    package func step(_ input: (inout Kept, Kept.Moment) -> Void, _ hooks: Hooks) async -> Step {
        await begin()
        defer { turns.end() }
        guard isOpen else { return Step() }
        let now = now()
        input(&book, now)
        book.decide(at: now)
        call { hooks.decided() }
        let effects = book.takeEffects()
        // The code above does not suspend, so transactions are in the order of decisions.
        return Step(effects: effects, isWritten: await save(hooks))
    }

    /// Performs a request. If its changes cannot be written, the state stays unchanged.
    ///
    /// - Throws: the errors of `input`; 503 if the runner is not open or the disk has failed.
    package func change<Value>(
        _ input: (inout Kept, Kept.Moment) throws(Problem) -> Value, _ hooks: Hooks
    ) async throws(Problem) -> (value: Value, effects: [Kept.Effect]) {
        await begin(alone: true)
        defer { turns.end() }
        guard isOpen else { throw refusal }
        let now = now()
        var next = book
        let value = try input(&next, now)
        next.decide(at: now)
        let (changes, effects) = (next.takeChanges(), next.takeEffects())
        guard await write(changes, leavesOutRefused: false) else {
            throw .unavailable("The change could not be stored. The log of the service shows the reason.")
        }
        book = next
        call {
            hooks.decided()
            hooks.written(changes)
        }
        return (value, effects)
    }

    /// Applies an input that has no effect until the next step. Works even if the runner is not open.
    package func note<Value>(_ input: (inout Kept) -> Value) async -> Value {
        // This waits for a request that is being written. Otherwise, the copy of that request would overwrite this
        // input.
        await begin()
        defer { turns.end() }
        return input(&book)
    }

    /// Changes the state within a step and returns a value. Only ``Hooks`` may call this.
    package func take<Value>(_ input: (inout Kept) -> Value) -> Value {
        precondition(isHooked, "The state may be changed only within a step.")
        return input(&book)
    }

    /// Writes changes that were delayed until another write. This also works after ``close()``.
    package func flush(_ input: (inout Kept) -> Void) async {
        await begin()
        defer { turns.end() }
        input(&book)
        await save(Hooks())
    }

    /// Returns when the changes of all decisions are on disk or could not be written. Callers use this to show only
    /// stored state.
    package func written() async {
        while turns.areUnderWay { await withCheckedContinuation { turns.add($0) } }
    }

    /// Whether the changes of a step are still being written.
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

    /// Writes the changes of the state.
    ///
    /// - Returns: whether the changes are on disk.
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

    /// Writes changes in one transaction. Returns whether they are on disk.
    ///
    /// - Parameter leavesOutRefused: whether to skip rows that the schema refuses permanently, and to write the others.
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
                    "The database refused a row permanently, so the row was skipped", metadata: ["error": "\(refusal)"])
            }
            return true
        } catch {
            logger.error("The store failed", metadata: ["error": "\(error)"])
            return false
        }
    }
}

/// The state of a feature that still uses a ``StateRunner``.
package protocol RunnerState: Sendable {
    associatedtype Moment: Sendable
    associatedtype Changes: StateChanges
    associatedtype Effect: Sendable

    mutating func decide(at now: Moment)
    mutating func takeChanges() -> Changes
    mutating func takeEffects() -> [Effect]
    mutating func notWritten(_ changes: Changes, now: Moment)
}
