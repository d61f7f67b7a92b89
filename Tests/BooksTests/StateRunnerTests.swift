import Books
import Foundation
import Logging
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// A persistent state that consists of applied words, requested words and words on disk.
private struct Words: RunnerState {
    struct Changes: StateChanges {
        var words: [String]
        var isEmpty: Bool { words.isEmpty }

        func write(
            in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
        ) throws {
            for word in words {
                try each {
                    try transaction.record(JournalEntry(time: reading.date, decision: .learnedForgotten, detail: word))
                    guard word == Words.tooLong else { return }
                    // This payload is larger than the schema allows.
                    try transaction.putWake(
                        AppID(rawValue: "org.example.app"), .response, payload: Data(count: 40_000), now: reading)
                }
            }
        }
    }

    /// A word that is too long for the schema.
    static let tooLong = "too long"

    private(set) var all: [String] = []
    private(set) var asides: [String] = []
    private(set) var looks = 0
    private var unwritten: [String] = []
    private var effects: [String] = []

    mutating func hear(_ word: String) {
        all.append(word)
        unwritten.append(word)
        effects.append(word)
    }

    mutating func hearAside(_ word: String) { asides.append(word) }

    mutating func decide(at now: Double) { looks += 1 }

    mutating func takeChanges() -> Changes {
        defer { unwritten = [] }
        return Changes(words: unwritten)
    }

    mutating func takeEffects() -> [String] {
        defer { effects = [] }
        return effects
    }

    mutating func notWritten(_ changes: Changes, now: Double) { unwritten = changes.words + unwritten }
}

/// An actor that owns a persistent state of words.
private actor Keeper {
    let kept: StateRunner<Words>
    private var decisions = 0
    private var onDisk: [[String]] = []

    init(_ store: Store, _ clock: ManualClock) {
        kept = StateRunner(
            Words(), store: store, clock: clock, closed: "Nobody listens.",
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { clock.now().wallSeconds }
    }

    private var hooks: StateRunner<Words>.Hooks {
        StateRunner.Hooks(
            decided: { self.decisions += 1 },
            written: { changes in if !changes.isEmpty { self.onDisk.append(changes.words) } })
    }

    struct Seen: Sendable {
        var words: [String]
        var asides: [String]
        var looks: Int
        var decisions: Int
        var onDisk: [[String]]
        var isBeingWritten: Bool
    }

    /// The values that a reader outside the actor sees now.
    var seen: Seen {
        Seen(
            words: kept.book.all, asides: kept.book.asides, looks: kept.book.looks, decisions: decisions,
            onDisk: onDisk, isBeingWritten: kept.isBeingWritten)
    }

    func open() async { await kept.open(kept.book) }
    func close() { kept.close() }

    func tell(_ word: String) async -> (effects: [String], isWritten: Bool) {
        let step = await kept.step({ book, _ in book.hear(word) }, hooks)
        return (step.effects, step.isWritten)
    }

    func ask(_ word: String) async throws(Problem) -> [String] {
        try await kept.change(
            { (book, _) throws(Problem) in
                book.hear(word)
                if word.isEmpty { throw .invalid("A word has letters.", pointer: "/word") }
            }, hooks
        ).effects
    }

    func note(_ word: String) async { await kept.note { $0.hearAside(word) } }
    func flush() async { await kept.flush { $0.hear("the last") } }
    func written() async { await kept.written() }
}

/// Tests of the steps of an actor's persistent state, with a real database.
@Suite(.timeLimit(.minutes(20))) struct StateRunnerTests {
    private let store: Store
    private let keeper: Keeper
    private let gate = CommitGate()
    private static let reading = ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1e9)

    init() async throws {
        let clock = ManualClock(Self.reading)
        store = try Store(inMemory: clock.now())
        keeper = Keeper(store, clock)
        store.add(transactionObserver: gate)
        await keeper.open()
    }

    /// The words on disk.
    private func disk() async throws -> [String] {
        try await store.read { try $0.journal(after: 0, limit: 1_000).compactMap(\.detail) }
    }

    /// Blocks all writes until `body` calls its argument.
    private func whileTheDiskRests(_ body: (_ goOn: () -> Void) async throws -> Void) async throws {
        let hold = try await StoreHold(store)
        try await body { hold.release() }
    }

    @Test func `An event changes the state at once, and its call returns when the event is on disk`() async throws {
        try await whileTheDiskRests { goOn in
            async let first = keeper.tell("a")
            async let second = keeper.tell("b")
            try await eventually("both") { await keeper.seen.words.sorted() == ["a", "b"] }
            let seen = await keeper.seen
            #expect(seen.isBeingWritten && seen.onDisk.isEmpty)
            goOn()
            _ = await (first, second)
        }
        await keeper.written()
        let seen = await keeper.seen
        #expect(try await disk() == seen.words)
        #expect(seen.onDisk.flatMap(\.self) == seen.words)
    }

    @Test func `A requested change is invisible, and prevents steps, until it is on disk`() async throws {
        try await whileTheDiskRests { goOn in
            async let asked = keeper.ask("a")
            try await eventually("the change") { await keeper.seen.isBeingWritten }
            async let told = keeper.tell("b")
            async let noted: Void = keeper.note("c")
            try await passTime(.milliseconds(200), because: "That nothing is seen is seen only over time.")
            let seen = await keeper.seen
            #expect(seen.words.isEmpty && seen.asides.isEmpty)
            goOn()
            _ = try await (asked, told, noted)
        }
        // The change has not undone later steps.
        let seen = await keeper.seen
        #expect(seen.words == ["a", "b"] && seen.asides == ["c"])
    }

    @Test func `The runner keeps events that arrive during the write of a change`() async throws {
        let (first, last) = try await {
            async let asked = keeper.ask("a")
            async let told = keeper.tell("b")
            async let noted: Void = keeper.note("c")
            async let again = keeper.ask("d")
            _ = await noted
            return (try await asked + again, await told.effects)
        }()
        #expect(first == ["a", "d"] && last == ["b"])
        let seen = await keeper.seen
        #expect(seen.words.sorted() == ["a", "b", "d"] && seen.asides == ["c"])
        #expect(try await disk() == seen.words)
    }

    @Test func `The runner undoes a change that cannot be written, and writes applied events later`()
        async throws
    {
        gate.shut()
        let problem = await #expect(throws: Problem.self) { try await keeper.ask("a") }
        #expect(problem?.status == 503)
        var seen = await keeper.seen
        #expect(seen.words.isEmpty && seen.decisions == 0 && seen.looks == 0)
        let told = await keeper.tell("b")
        #expect(!told.isWritten && told.effects == ["b"])
        // The state makes one more decision after the refusal, because the next action has changed.
        seen = await keeper.seen
        #expect(seen.decisions == 2 && seen.onDisk.isEmpty)
        // A refused change does not cancel changes that wait.
        _ = await #expect(throws: Problem.self) { try await keeper.ask("c") }
        gate.open()
        #expect(await keeper.tell("d").isWritten)
        #expect(try await disk() == ["b", "d"])
        #expect(await keeper.seen.onDisk == [["b", "d"]])
    }

    @Test func `The runner skips an event that the schema refuses, and writes the other events`() async throws {
        gate.shut()
        for word in ["a", Words.tooLong, "b"] { _ = await keeper.tell(word) }
        gate.open()
        #expect(await keeper.tell("c").isWritten)
        #expect(try await disk() == ["a", "b", "c"])
        #expect(await keeper.tell(Words.tooLong).isWritten)
        #expect(try await keeper.ask("d") == ["d"])
        #expect(try await disk() == ["a", "b", "c", "d"])
        // A requested change of this kind throws an error.
        let problem = await #expect(throws: Problem.self) { try await keeper.ask(Words.tooLong) }
        #expect(problem?.status == 503)
        #expect(try await keeper.ask("e") == ["e"])
        #expect(try await disk() == ["a", "b", "c", "d", "e"])
    }

    @Test func `An invalid change is refused and has no effect`() async throws {
        let problem = await #expect(throws: Problem.self) { try await keeper.ask("") }
        #expect(problem?.status == 422)
        #expect(await keeper.seen.words.isEmpty)
        // The refused change no longer blocks other steps.
        #expect(try await keeper.ask("a") == ["a"])
    }

    @Test func `A closed state refuses changes but still writes waiting events`() async throws {
        _ = await keeper.tell("a")
        await keeper.close()
        let told = await keeper.tell("b")
        #expect(told.effects.isEmpty && !told.isWritten)
        let problem = await #expect(throws: Problem.self) { try await keeper.ask("c") }
        #expect(problem?.status == 503 && problem?.detail == "Nobody listens.")
        await keeper.open()
        #expect(await keeper.tell("d").effects.isEmpty)
        await keeper.flush()
        #expect(try await disk() == ["a", "the last"])
    }

    @Test func `A state that is not read yet stores events aside and makes no decisions`() async throws {
        let fresh = Keeper(store, ManualClock(Self.reading))
        await fresh.note("a")
        #expect(await fresh.tell("b").effects.isEmpty)
        _ = await #expect(throws: Problem.self) { try await fresh.ask("c") }
        let seen = await fresh.seen
        #expect(seen.asides == ["a"] && seen.words.isEmpty && seen.looks == 0)
        await fresh.open()
        #expect(await fresh.tell("d").effects == ["d"])
    }
}
