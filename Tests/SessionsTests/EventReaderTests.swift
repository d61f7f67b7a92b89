import NightshiftAPI
import Sessions
import Store
import TestSupport
import Testing

/// Tests of a reader of a table that grows.
@Suite struct StoredEventReaderTests {
    private enum Event: Hashable, Sendable {
        case row(Int64)
        case caughtUp(Int64)
        case progress(Int64)
        case first
    }

    private static let now = ClockReading(bootID: "b", bootSeconds: 1_000, wallSeconds: 1_800_000_000)

    private let store: Store

    init() throws {
        store = try Store(inMemory: Self.now)
    }

    /// Adds this many entries to the journal.
    private func grow(_ count: Int) async throws {
        try await store.write { transaction in
            for _ in 0..<count {
                try transaction.record(JournalEntry(time: Self.now.date, decision: .serviceStarted))
            }
        }
    }

    /// Returns a source of the journal's entry numbers, with two numbers per page. It filters out entries below
    /// `wanted`.
    private func source(
        wanted: Int64 = 0, tellsEnd: Bool = false, progress: [TaskProgress]? = nil, isOver: Bool = false
    ) -> StoredEventReader<Event>.Source {
        let caughtUp: @Sendable (Int64) -> Event = { .caughtUp($0) }
        return StoredEventReader<Event>.Source(
            signal: store.journalSignal, page: 2,
            rows: { [store] after, limit in
                let entries = try? await store.read { try $0.journal(after: after, limit: limit) }
                return entries?.map { entry in
                    StoredEventReader<Event>.Row(id: entry.id, event: entry.id < wanted ? nil : .row(entry.id))
                }
            },
            caughtUp: tellsEnd ? caughtUp : nil, progress: { progress },
            report: { .progress($0.countOfBytesReceived) }, isOver: { isOver })
    }

    private static func progress(_ count: Int64) -> TaskProgress {
        TaskProgress(
            id: TaskID(count), countOfBytesReceived: count, countOfBytesExpectedToReceive: -1, countOfBytesSent: 0,
            countOfBytesExpectedToSend: -1, bytesPerSecond: 0)
    }

    private static func read(_ count: Int, _ reader: StoredEventReader<Event>) async -> [Event] {
        var events: [Event] = []
        while events.count < count, let event = await reader.next() { events.append(event) }
        return events
    }

    @Test func `A reader gets rows in order, page by page, and then as they are added`() async throws {
        try await grow(5)
        let reader = StoredEventReader(source(tellsEnd: true), after: 0)
        #expect(await Self.read(6, reader) == [.row(1), .row(2), .row(3), .row(4), .row(5), .caughtUp(5)])
        async let next = Self.read(2, reader)
        try await grow(2)
        #expect(await next == [.row(6), .row(7)])
    }

    @Test func `A reader continues after its last row, and gets the initial events first`() async throws {
        try await grow(3)
        let reader = StoredEventReader(source(), after: 2, first: [.first])
        #expect(await Self.read(2, reader) == [.first, .row(3)])
    }

    @Test func `Rows that a reader filters out still count as read`() async throws {
        try await grow(7)
        let reader = StoredEventReader(source(wanted: 6), after: 0)
        #expect(await Self.read(2, reader) == [.row(6), .row(7)])
    }

    @Test func `A stream sends progress if there are no rows, and never sends the same progress twice`() async throws {
        try await grow(1)
        let reader = StoredEventReader(source(progress: [Self.progress(10), Self.progress(20)]), after: 0)
        #expect(await Self.read(3, reader) == [.row(1), .progress(10), .progress(20)])
        async let next = Self.read(1, reader)
        store.journalSignal.wakeWaiters()
        try await grow(1)
        #expect(await next == [.row(2)])
    }

    @Test func `A stream ends with its source, after a read error, and when another reader attaches`()
        async throws
    {
        #expect(await StoredEventReader(source(isOver: true), after: 0).next() == nil)
        try await grow(1)
        var broken = source()
        broken.rows = { _, _ in nil }
        #expect(await StoredEventReader(broken, after: 0).next() == nil)
        let reader = StoredEventReader(source(), after: 1)
        async let next = reader.next()
        await reader.end()
        #expect(await next == nil)
        #expect(await reader.next() == nil)
    }

    @Test func `A reader whose task is cancelled does not wait`() async {
        let reader = StoredEventReader(source(), after: 0)
        let reading = Task { await reader.next() }
        reading.cancel()
        #expect(await reading.value == nil)
    }
}
