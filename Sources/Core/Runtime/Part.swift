package import Clock
package import Logging
package import NightshiftAPI
package import Store

/// The runner of the state of one part of the service. It orders the steps on the state, and writes the changes to disk.
///
/// An event changes the state at once. Events that arrive during a write share the next one. A write that fails changes
/// nothing: the next one writes the difference between the state and the disk. A request runs alone, on a copy of the
/// state, which replaces the state when its changes are on disk. See `docs/decisions/0074`.
///
/// All methods and their closures run on the actor that created the part.
package final class Part<State: PartState> {
    package private(set) var state: State
    /// The state that the disk contains.
    private var durable: State
    private var life = Life.new
    private var turns = StepTurns()
    private var isWriting = false
    /// The callers that joined during the current write. The first of them makes the next write for all of them.
    private var joined: [CheckedContinuation<Turn, Never>] = []
    /// Whether a hook of a step is running.
    private var isHooked = false
    /// The time of the next attempt to write after a failure, in boot seconds.
    package private(set) var retryAt: Double?
    private let store: Store
    private let clock: any ServiceClock
    private let now: () -> State.Moment
    private let closed: String
    private let logger: Logger

    private enum Life {
        case new
        case open
        case closed
    }

    /// The answer to a caller that joined a write: the result, or the duty to make the next write for others as well.
    private enum Turn {
        case written(Bool)
        case yours(others: [CheckedContinuation<Turn, Never>])
    }

    /// The result of a step.
    package struct Step {
        package var effects: [State.Effect] = []
        /// Whether all changes are on disk.
        package var isWritten = false
    }

    /// Closures that run as part of each step.
    package struct Hooks {
        /// A closure that runs after a decision or a failed write. It applies what does not need to be on disk, and may
        /// call ``Part/take(_:)``.
        package var decided: () -> Void
        /// A closure that runs when changes are on disk, before anything else happens.
        package var written: (State.Changes) -> Void

        package init(decided: @escaping () -> Void = {}, written: @escaping (State.Changes) -> Void = { _ in }) {
            self.decided = decided
            self.written = written
        }
    }

    /// Creates a part that is not yet open.
    ///
    /// - Parameter closed: the error message for requests while the part is not open.
    package init(
        _ state: State, store: Store, clock: any ServiceClock, closed: String, logger: Logger,
        now: @escaping () -> State.Moment
    ) {
        self.state = state
        durable = state
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
    /// The error for requests while the part is not open.
    package var refusal: Problem { .unavailable(closed) }

    /// Opens the part with the state that the disk contains, and writes what `begin` changes.
    ///
    /// - Parameters:
    ///   - durable: the state that was read.
    ///   - begin: a closure that applies the start of the service, and what the earlier state got by ``note(_:)``.
    package func open(
        _ durable: State, _ hooks: Hooks, begin: (inout State, _ earlier: State, State.Moment) -> Void = { _, _, _ in }
    ) async {
        await beginStep()
        defer { turns.end() }
        guard life == .new else { return }
        let earlier = state
        self.durable = durable
        self.durable.becomeDurable()
        state = durable
        begin(&state, earlier, now())
        life = .open
        _ = await commit(hooks)
    }

    /// Closes the part because its owner stops. Later events are handled after the next start.
    package func close() { life = .closed }

    /// Returns when no step is under way. A closed part writes nothing after that, except by ``flush(_:)``.
    package func settled() async {
        await beginStep(alone: true)
        turns.end()
    }

    // MARK: - Steps

    /// Applies an event, decides, and writes the changes.
    ///
    /// - Parameter coversEarlier: whether the step is written only when earlier changes are on disk as well. Otherwise a
    ///   step that changes nothing does not wait for the writes of others.
    /// - Returns: an empty step if the part is not open. The event is not lost: an event before the opening is part of
    ///   the stored state that is read then, and an event after the closing is handled by the next run of the service.
    package func step(
        _ input: (inout State, State.Moment) -> Void, coversEarlier: Bool = false, _ hooks: Hooks
    ) async -> Step {
        await beginStep()
        defer { turns.end() }
        guard isOpen else { return Step() }
        // This step writes what is missing, or a write is under way. An alarm in the past would ring without end.
        retryAt = nil
        // Without a write under way, no caller has to wait for the writes of others.
        let (now, before) = (now(), isWriting && !coversEarlier ? state : nil)
        input(&state, now)
        state.decide(at: now)
        call { hooks.decided() }
        let effects = state.takeEffects()
        if let before, !differs(from: before) { return Step(effects: effects, isWritten: true) }
        let isWritten = await commit(hooks)
        // The owner's alarm includes the next attempt to write.
        if !isWritten { call { hooks.decided() } }
        return Step(effects: effects, isWritten: isWritten)
    }

    /// Performs a request. If its changes cannot be written, nothing changes.
    ///
    /// - Throws: the errors of `input`; 503 if the part is not open or the disk has failed.
    package func change<Value>(
        _ input: (inout State, State.Moment) throws(Problem) -> Value, _ hooks: Hooks
    ) async throws(Problem) -> (value: Value, effects: [State.Effect]) {
        await beginStep(alone: true)
        defer { turns.end() }
        guard isOpen else { throw refusal }
        let now = now()
        var next = state
        let value = try input(&next, now)
        next.decide(at: now)
        guard let changes = await write(next, leavesOutRefused: false) else {
            throw .unavailable("The change could not be stored. The log of the service shows the reason.")
        }
        next.wrote(next)
        state = next
        call {
            hooks.decided()
            hooks.written(changes)
        }
        return (value, state.takeEffects())
    }

    /// Applies an input that has no effect until the next step. Works even if the part is not open.
    package func note<Value>(_ input: (inout State) -> Value) async -> Value {
        // This waits for a request that is being written. Otherwise, the copy of that request would overwrite this
        // input.
        await beginStep()
        defer { turns.end() }
        return input(&state)
    }

    /// Changes the state within a step and returns a value. Only the hook of a step may call this.
    package func take<Value>(_ input: (inout State) -> Value) -> Value {
        precondition(isHooked, "The state may be changed only within a step.")
        return input(&state)
    }

    /// Reads rows that others write as well, when the disk contains all changes of this part, and applies them.
    ///
    /// - Returns: an empty step if the part is not open, or if the rows cannot be read; `isWritten` is false then.
    package func reload<Rows: Sendable>(
        _ read: @escaping @Sendable (StoreTransaction) throws -> Rows,
        _ input: (inout State, Rows, State.Moment) -> Void, _ hooks: Hooks
    ) async -> Step {
        await beginStep(alone: true)
        defer { turns.end() }
        guard isOpen, await commit(hooks) else { return Step() }
        let rows: Rows
        do throws(StoreError) {
            rows = try await store.read(read)
        } catch {
            logger.error("The store cannot be read", metadata: ["error": "\(error)"])
            return Step()
        }
        let now = now()
        input(&state, rows, now)
        durable = state
        durable.becomeDurable()
        state.decide(at: now)
        call { hooks.decided() }
        let effects = state.takeEffects()
        return Step(effects: effects, isWritten: await commit(hooks))
    }

    /// Writes changes that were delayed until another write. This also works after ``close()``.
    package func flush(_ input: (inout State) -> Void) async {
        await beginStep()
        defer { turns.end() }
        input(&state)
        _ = await commit(Hooks())
    }

    /// Returns when the disk contains the state, or could not be written. Callers use this to show only stored state.
    /// Events that arrive during a write are waited for as well.
    ///
    /// - Parameter concern: whether missing changes concern the caller. By default, all do.
    /// - Returns: whether the disk contains the state.
    @discardableResult
    package func written(
        _ hooks: Hooks, where concern: (State.Changes) -> Bool = { !$0.isEmpty }
    ) async -> Bool {
        await beginStep()
        defer { turns.end() }
        while concern(state.changes(since: durable)) {
            guard retryAt == nil, await commit(hooks) else { return false }
        }
        return true
    }

    /// Whether the changes of a step are still being written.
    package var isBeingWritten: Bool { turns.areUnderWay }

    private func beginStep(alone: Bool = false) async {
        guard !turns.begin(alone: alone) else { return }
        await withCheckedContinuation { turns.add($0, alone: alone) }
    }

    private func call(_ hook: () -> Void) {
        isHooked = true
        hook()
        isHooked = false
    }

    // MARK: - The disk

    /// Writes the changes so far, together with those of other callers that arrive before the write begins.
    ///
    /// - Returns: whether they are on disk.
    private func commit(_ hooks: Hooks) async -> Bool {
        var others: [CheckedContinuation<Turn, Never>] = []
        if isWriting {
            switch await withCheckedContinuation({ joined.append($0) }) {
            case .written(let isWritten): return isWritten
            case .yours(let sharing): others = sharing
            }
        }
        isWriting = true
        let changes = await write(state, leavesOutRefused: true)
        let isWritten = changes != nil
        if let changes, !changes.isEmpty { call { hooks.written(changes) } }
        for other in others { other.resume(returning: .written(isWritten)) }
        isWriting = !joined.isEmpty
        if let next = joined.first {
            let sharing = Array(joined.dropFirst())
            joined = []
            next.resume(returning: .yours(others: sharing))
        }
        return isWritten
    }

    /// Whether the disk has to contain anything new since an earlier copy of the state.
    private func differs(from earlier: State) -> Bool {
        var (rest, before) = (state, earlier)
        rest.wrote(earlier)
        before.wrote(earlier)
        return !rest.changes(since: before).isEmpty
    }

    /// Writes a state in one transaction. Returns what was written; nil if the disk has failed.
    ///
    /// - Parameter leavesOutRefused: whether to skip rows that the schema refuses permanently, and to write the others.
    private func write(_ copy: State, leavesOutRefused: Bool) async -> State.Changes? {
        let changes = copy.changes(since: durable)
        guard !changes.isEmpty else { return changes }
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
        } catch {
            logger.error("The store failed", metadata: ["error": "\(error)"])
            // The disk needs time to recover.
            if leavesOutRefused { retryAt = clock.now().bootSeconds + Self.pauseAfterFailure }
            return nil
        }
        durable = copy
        durable.wrote(copy)
        durable.becomeDurable()
        state.wrote(copy)
        retryAt = nil
        return changes
    }

    private static var pauseAfterFailure: Double { 30 }
}
