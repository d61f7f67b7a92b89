import NightshiftAPI
import Sessions
import Testing

/// Tests of the readers of sessions, and of the answers that apps give in them.
@Suite struct SessionTableTests {
    private final class Reader: Sendable {}

    private static let app = AppID(rawValue: "org.example.App")
    private static let session = SessionID(app: app, identifier: "s")

    @Test func `A reader is registered as long as its stream exists`() {
        var table = SessionTable<Reader>()
        var first: Reader? = Reader()
        if let first { table.put(first, of: 1, for: Self.session) }
        #expect(table.reader(of: Self.session) === first)
        first = nil
        #expect(table.reader(of: Self.session) == nil)
        let second = Reader()
        table.put(second, of: 2, for: Self.session)
        #expect(table.reader(of: Self.session) === second)
        #expect(table.holder(of: Self.session, besides: 1) == 2)
        #expect(table.holder(of: Self.session, besides: 2) == nil)
        table.remove(Self.session)
        #expect(table.reader(of: Self.session) == nil)
    }

    @Test func `A suspended app does not receive events`() {
        var table = SessionTable<Reader>()
        #expect(table.isListening(Self.app))
        table.setListening(Self.app, false)
        #expect(!table.isListening(Self.app))
        table.setListening(Self.app, true)
        #expect(table.isListening(Self.app))
    }

    @Test func `Answers apply to the whole session, and refusals only to their task`() {
        var table = SessionTable<Reader>()
        let task = TaskID(1)
        table[answersOf: Self.session].update("http://h:80") {
            $0.credential = Credential(user: "a", password: "b")
        }
        table[answersOf: Self.session].decline([.basic], task)
        #expect(table[answersOf: Self.session].byOrigin["http://h:80"]?.credential?.user == "a")
        #expect(!table[answersOf: Self.session].asksAbout(task).contains(.basic))
        #expect(table[answersOf: Self.session].asksAbout(TaskID(2)).contains(.basic))
        let refusals = (1...2).map { _ in table[answersOf: Self.session].refused(task, origin: "http://h:80") }
        #expect(refusals == [1, 2])
        #expect(table[answersOf: Self.session].byOrigin["http://h:80"]?.credential == nil)
        table.forgetAnswers([task], of: Self.session)
        #expect(table[answersOf: Self.session].asksAbout(task).contains(.basic))
        let afterwards = table[answersOf: Self.session].refused(task, origin: "http://h:80")
        #expect(afterwards == 1)
        table.remove(Self.session)
        #expect(table[answersOf: Self.session].byOrigin.isEmpty)
    }
}
