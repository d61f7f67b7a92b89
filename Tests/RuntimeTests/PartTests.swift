import Clock
import Foundation
import Logging
import NightshiftAPI
import Runtime
import SimulationSupport
import Store
import TestSupport
import Testing

/// A state that consists of words: counts that are rows, and each word once in an outbox.
private struct Words: PartState {
    enum Change: Hashable, Sendable {
        case row(String, Int)
        case entry(JournalEntry)
    }

    /// A word whose row the schema refuses.
    static let refused = "refused"

    /// How often each word was heard.
    private(set) var counts: [String: Int] = [:]
    private(set) var order: [String] = []
    private(set) var asides: [String] = []
    private(set) var decisions = 0
    private var journal = Outbox<JournalEntry>()
    private var effects: [String] = []

    init(_ counts: [String: Int] = [:]) { self.counts = counts }

    mutating func hear(_ word: String) {
        counts[word, default: 0] += 1
        order.append(word)
        journal.note(JournalEntry(time: Date(timeIntervalSince1970: 0), decision: .learnedForgotten, detail: word))
        effects.append(word)
    }

    /// Sets a count without a journal entry.
    mutating func set(_ word: String, _ count: Int?) { counts[word] = count }

    mutating func hearAside(_ word: String) { asides.append(word) }

    var nextDecision: DecisionTime? { nil }

    mutating func decide(at now: Double) { decisions += 1 }

    mutating func takeEffects() -> [String] {
        defer { effects = [] }
        return effects
    }

    func changes(since durable: Words) -> [Change] {
        counts.filter { durable.counts[$0.key] != $0.value }.map { .row($0.key, $0.value) }
            + journal.rows.map { .entry($0) }
    }

    mutating func wrote(_ copy: Words) { journal.wrote(copy.journal) }
}

extension [Words.Change]: StateChanges {
    func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        for change in self {
            try each {
                switch change {
                case .entry(let entry): try transaction.record(entry)
                case .row(let word, let count):
                    // The payload of a refused word is larger than the schema allows.
                    let payload = word == Words.refused ? Data(count: 40_000) : Data("\(count)".utf8)
                    try transaction.putWake(
                        AppID(rawValue: "org.example.\(word)"), .response, payload: payload, now: reading)
                }
            }
        }
    }
}

/// An actor that owns a part with words.
private actor Owner: PartService {
    let part: Part<Words>
    let clock: any ServiceClock
    var alarm = Alarm()
    private var effects: [String] = []
    private var onDisk: [[Words.Change]] = []

    init(_ store: Store, _ clock: ManualClock) {
        self.clock = clock
        part = Part(
            Words(), store: store, clock: clock, closed: "Nobody listens.",
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { clock.now().wallSeconds }
    }

    private var duringWrites: [String] = []

    func perform(_ effect: String) { effects.append(effect) }
    func written(_ changes: [Words.Change]) {
        onDisk.append(changes)
        if let word = duringWrites.popLast() { part.take { $0.hear(word) } }
    }

    /// Lets one of the words arrive during each of the next writes.
    func hear(duringWrites words: [String]) { duringWrites = words }

    struct Seen: Sendable {
        var counts: [String: Int]
        var words: [String]
        var asides: [String]
        var decisions: Int
        var effects: [String]
        var onDisk: [[Words.Change]]
        var isBeingWritten: Bool
        var retryAt: Double?
    }

    /// The values that a reader outside of the actor sees now.
    var seen: Seen {
        Seen(
            counts: part.state.counts, words: part.state.order, asides: part.state.asides,
            decisions: part.state.decisions, effects: effects, onDisk: onDisk, isBeingWritten: part.isBeingWritten,
            retryAt: part.retryAt)
    }

    func open(_ words: Words = Words()) async {
        await part.open(words, hooks) { words, _, _ in words.hearAside("open") }
    }
    func close() { part.close() }
    var isClosed: Bool { part.isClosed }
    /// Closes the part. Returns how many writes are on disk when no step is under way.
    func closeAndSettle() async -> Int {
        part.close()
        await part.settled()
        return onDisk.count
    }
    func hear(_ word: String) async -> Bool { await tell { words, _ in words.hear(word) } }

    func request(_ word: String) async throws(Problem) {
        try await ask { (words, _) throws(Problem) in
            words.hear(word)
            if word.isEmpty { throw .invalid("A word has letters.", pointer: "/word") }
        }
    }

    func set(_ word: String, _ count: Int?) async -> Bool { await tell { words, _ in words.set(word, count) } }

    /// Returns whether all words are on disk, when no write is under way.
    func areAllWritten() async -> Bool { await tell(coversEarlier: true) { _, _ in } }

    func note(_ word: String) async { await part.note { $0.hearAside(word) } }
    func flush() async { await part.flush { $0.hear("last") } }
    func written() async -> Bool { await part.written(hooks) }

    /// Returns the numbers of words in the state and on disk when all are said to be on disk.
    func countsWhenWritten() async -> (words: Int, onDisk: Int) {
        await part.written(hooks)
        return (part.state.order.count, onDisk.reduce(0) { $0 + $1.count / 2 })
    }

    func reload() async -> Bool {
        await part.reload({ try Self.counts($0) }, { words, counts, _ in words = Words(counts) }, hooks).isWritten
    }

    /// Reads the counts that the disk contains.
    static func counts(_ transaction: StoreTransaction) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for wake in try transaction.wantedWakes() {
            let word = String(wake.app.rawValue.dropFirst("org.example.".count))
            counts[word] = wake.payload.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
        }
        return counts
    }
}

/// Tests of the steps of a part, with a real database.
@Suite(.timeLimit(.minutes(20))) struct PartTests {
    private let store: Store
    private let clock: ManualClock
    private let owner: Owner
    private let gate = CommitGate()
    private static let reading = ClockReading(bootID: "boot", bootSeconds: 100, wallSeconds: 1e9)

    init() async throws {
        clock = ManualClock(Self.reading)
        store = try Store(inMemory: clock.now())
        owner = Owner(store, clock)
        store.add(transactionObserver: gate)
        await owner.open()
    }

    /// The words in the journal, in the order of their transactions.
    private func journal() async throws -> [String] {
        try await store.read { try $0.journal(after: 0, limit: 1_000).compactMap(\.detail) }
    }

    private func counts() async throws -> [String: Int] { try await store.read { try Owner.counts($0) } }

    /// Blocks all writes until `body` calls its argument.
    private func whileTheDiskRests(_ body: (_ goOn: () -> Void) async throws -> Void) async throws {
        let hold = try await StoreHold(store)
        try await body { hold.release() }
    }

    @Test func `An event changes the state at once, and its call returns when the event is on disk`() async throws {
        try await whileTheDiskRests { goOn in
            async let first = owner.hear("a")
            async let second = owner.hear("b")
            try await eventually("both") { await owner.seen.words.sorted() == ["a", "b"] }
            let seen = await owner.seen
            #expect(seen.isBeingWritten && seen.onDisk.isEmpty && seen.effects.isEmpty)
            goOn()
            let isWritten = await (first, second)
            #expect(isWritten.0 && isWritten.1)
        }
        #expect(try await journal() == owner.seen.words)
        #expect(await owner.seen.effects.sorted() == ["a", "b"])
    }

    @Test func `Events that arrive during a write share the next write`() async throws {
        try await whileTheDiskRests { goOn in
            async let first = owner.hear("first")
            try await eventually("the first") { await owner.seen.words == ["first"] }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 { group.addTask { await owner.hear("\(number)") } }
                try await eventually("all") { await owner.seen.words.count == 21 }
                goOn()
                for try await isWritten in group { #expect(isWritten) }
            }
            #expect(await first)
        }
        // The first event is written alone, and the others together.
        #expect(await owner.seen.onDisk.map { $0.count / 2 } == [1, 20])
        #expect(try await journal() == owner.seen.words)
    }

    @Test func `A caller learns whether all changes so far are on disk`() async throws {
        try await whileTheDiskRests { goOn in
            async let first = owner.hear("a")
            try await eventually("the first") { await owner.seen.words == ["a"] }
            async let isWritten = owner.written()
            goOn()
            let answers = await (first, isWritten)
            #expect(answers.0 && answers.1)
        }
        gate.shut()
        #expect(await !owner.hear("b"))
        #expect(await !owner.written())
        gate.open()
        #expect(await owner.hear("c"))
        #expect(await owner.written())
    }

    @Test func `A caller that waits for the disk sees no event that is not on disk`() async throws {
        await owner.hear(duringWrites: ["c", "b"])
        try await whileTheDiskRests { goOn in
            async let first = owner.hear("a")
            try await eventually("the first") { await owner.seen.words == ["a"] }
            async let counts = owner.countsWhenWritten()
            goOn()
            #expect(await first)
            #expect(await counts == (3, 3))
        }
    }

    @Test func `A closed part has settled when its last write is on disk`() async throws {
        try await whileTheDiskRests { goOn in
            async let first = owner.hear("a")
            try await eventually("the first") { await owner.seen.words == ["a"] }
            async let writes = owner.closeAndSettle()
            try await eventually("the end") { await owner.isClosed }
            goOn()
            #expect(await first)
            #expect(await writes == 1)
        }
    }

    @Test func `A step without changes does not wait for the write of another one`() async throws {
        try await whileTheDiskRests { goOn in
            async let first = owner.hear("a")
            try await eventually("the first") { await owner.seen.words == ["a"] }
            await owner.look()
            #expect(await owner.seen.onDisk.isEmpty)
            goOn()
            #expect(await first)
        }
    }

    @Test func `A requested change is invisible, and prevents steps, until it is on disk`() async throws {
        try await whileTheDiskRests { goOn in
            async let asked: Void = owner.request("a")
            try await eventually("the change") { await owner.seen.isBeingWritten }
            async let told = owner.hear("b")
            async let noted: Void = owner.note("c")
            try await passTime(.milliseconds(200), because: "That nothing is seen is seen only over time.")
            let seen = await owner.seen
            #expect(seen.words.isEmpty && seen.asides == ["open"])
            goOn()
            try await asked
            _ = await (told, noted)
        }
        // The change has not undone later steps.
        let seen = await owner.seen
        #expect(seen.words == ["a", "b"] && seen.asides == ["open", "c"])
        #expect(try await journal() == ["a", "b"])
    }

    @Test func `A failed request changes nothing, and a failed event is written later`() async throws {
        gate.shut()
        let problem = await #expect(throws: Problem.self) { try await owner.request("a") }
        #expect(problem?.status == 503)
        var seen = await owner.seen
        #expect(seen.words.isEmpty && seen.effects.isEmpty && seen.decisions == 0 && seen.retryAt == nil)
        #expect(await !owner.hear("b"))
        // The effects of events do not wait for a disk that has failed.
        seen = await owner.seen
        #expect(seen.effects == ["b"] && seen.onDisk.isEmpty && seen.retryAt == Self.reading.bootSeconds + 30)
        _ = await #expect(throws: Problem.self) { try await owner.request("c") }
        gate.open()
        // The alarm writes what is missing.
        try await eventually("an alarm") { clock.nextWaking == Self.reading.bootSeconds + 30 }
        clock.advance(to: Self.reading.bootSeconds + 30)
        try await eventually("the word on disk") { try await journal() == ["b"] }
        #expect(await owner.hear("d"))
        #expect(try await journal() == ["b", "d"])
        #expect(await owner.seen.retryAt == nil)
    }

    @Test func `A change that was undone before it could be written needs no further attempt`() async throws {
        gate.shut()
        #expect(await !owner.set("a", 1))
        #expect(await owner.set("a", nil))
        #expect(await owner.seen.retryAt == nil)
        try await eventually("no alarm") { clock.nextWaking == nil }
    }

    @Test func `No alarm rings while an attempt to write hangs`() async throws {
        gate.shut()
        #expect(await !owner.set("a", 1))
        gate.open()
        try await eventually("an alarm") { clock.nextWaking == Self.reading.bootSeconds + 30 }
        try await whileTheDiskRests { goOn in
            let before = await owner.seen.decisions
            clock.advance(to: Self.reading.bootSeconds + 30)
            try await eventually("the next attempt") { await owner.seen.decisions > before }
            try await passTime(.milliseconds(200), because: "That no alarm rings is seen only over time.")
            #expect(await owner.seen.decisions == before + 1)
            #expect(clock.nextWaking == nil)
            goOn()
        }
        try await eventually("the row") { try await counts() == ["a": 1] }
    }

    @Test func `A step that covers earlier ones waits for their write`() async throws {
        try await whileTheDiskRests { goOn in
            async let first = owner.hear("a")
            try await eventually("the first") { await owner.seen.words == ["a"] }
            let again = Watched(false)
            async let second: Void = {
                let isWritten = await owner.areAllWritten()
                again.update { $0 = isWritten }
            }()
            try await passTime(.milliseconds(200), because: "That it waits is seen only over time.")
            #expect(!again.read { $0 })
            goOn()
            #expect(await first)
            await second
            #expect(again.read { $0 })
        }
    }

    @Test func `The part skips a row that the schema refuses, and writes the others`() async throws {
        gate.shut()
        for word in ["a", Words.refused, "b"] { _ = await owner.hear(word) }
        gate.open()
        #expect(await owner.hear("c"))
        #expect(try await journal() == ["a", Words.refused, "b", "c"])
        #expect(try await counts() == ["a": 1, "b": 1, "c": 1])
        // The row is not tried again before it changes.
        #expect(await owner.hear("d"))
        #expect(await owner.seen.onDisk.last?.count == 2)
        // A request with such a row throws an error.
        let problem = await #expect(throws: Problem.self) { try await owner.request(Words.refused) }
        #expect(problem?.status == 503)
        try await owner.request("e")
        #expect(try await counts() == ["a": 1, "b": 1, "c": 1, "d": 1, "e": 1])
    }

    @Test func `An invalid request is refused and has no effect`() async throws {
        let problem = await #expect(throws: Problem.self) { try await owner.request("") }
        #expect(problem?.status == 422)
        #expect(await owner.seen.words.isEmpty)
        // The refused request no longer blocks other steps.
        try await owner.request("a")
        #expect(await owner.seen.effects == ["a"])
    }

    @Test func `A closed part refuses requests but still writes delayed changes`() async throws {
        _ = await owner.hear("a")
        await owner.close()
        #expect(await !owner.hear("b"))
        let problem = await #expect(throws: Problem.self) { try await owner.request("c") }
        #expect(problem?.status == 503 && problem?.detail == "Nobody listens.")
        await owner.open()
        #expect(await !owner.hear("d"))
        await owner.flush()
        #expect(try await journal() == ["a", "last"])
    }

    @Test func `A part that is not open keeps notes and makes no decisions`() async throws {
        let fresh = Owner(store, clock)
        await fresh.note("a")
        #expect(await !fresh.hear("b"))
        _ = await #expect(throws: Problem.self) { try await fresh.request("c") }
        let seen = await fresh.seen
        #expect(seen.asides == ["a"] && seen.words.isEmpty && seen.decisions == 0)
        await fresh.open()
        #expect(await fresh.hear("d"))
    }

    @Test func `Rows of others are read only when the disk contains all changes`() async throws {
        gate.shut()
        _ = await owner.hear("a")
        #expect(await !owner.reload())
        #expect(await owner.seen.words == ["a"])
        gate.open()
        try await store.write { transaction in
            try transaction.putWake(
                AppID(rawValue: "org.example.b"), .response, payload: Data("7".utf8), now: Self.reading)
        }
        #expect(await owner.reload())
        #expect(await owner.seen.counts == ["a": 1, "b": 7])
        // What was read is not written again.
        #expect(await owner.hear("b"))
        #expect(try await counts() == ["a": 1, "b": 8])
    }

    /// Random events and requests, failing commits, and a crash at any commit.
    @Test(arguments: 0..<12 as Range<UInt64>)
    func `In random walks the disk contains the durable state, and nothing is lost without a crash`(
        seed: UInt64
    ) async throws {
        var random = SplitMix64(seed: seed)
        var owner = owner
        var (answered, heard): (Set<String>, [String: Int]) = ([], [:])
        for number in 0..<60 {
            let word = "\(Int.random(in: 0..<6, using: &random))"
            switch Int.random(in: 0..<8, using: &random) {
            case 0: gate.shut()
            case 1: gate.open()
            case 2:
                // A crash: the next service begins with what the disk contains.
                gate.open()
                await owner.close()
                heard = try await counts()
                owner = Owner(store, clock)
                await owner.open(Words(heard))
            case 3, 4:
                do {
                    try await owner.request(word)
                    answered.insert("\(number)")
                    heard[word, default: 0] += 1
                    #expect(try await counts() == heard, "seed \(seed), step \(number)")
                } catch {}
            default:
                heard[word, default: 0] += 1
                guard await owner.hear(word) else { continue }
                #expect(try await counts() == heard, "seed \(seed), step \(number)")
            }
            #expect(await owner.seen.counts == heard, "seed \(seed), step \(number)")
        }
        gate.open()
        _ = await owner.hear("end")
        heard["end", default: 0] += 1
        #expect(try await counts() == heard)
        #expect(!answered.isEmpty)
    }
}
