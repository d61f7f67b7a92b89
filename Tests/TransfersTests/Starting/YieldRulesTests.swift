import NightshiftAPI
import Store
import Testing

@testable import Transfers

/// Tests of the rules that decide which transfers yield to other traffic.
@Suite struct YieldRulesTests {
    private static let app = AppID(rawValue: "org.example.Films")

    private static func record(
        of app: AppID? = nil, origin: String = "http://h:80", kind: TaskKind = .download
    ) -> TaskRecord {
        var record = TaskRecord(
            session: app.map { SessionID(app: $0, identifier: "s") } ?? .terminal, origin: origin, state: .waiting,
            priority: 0.5, createdAt: 1_800_000_000,
            request: TaskRequest(kind: kind, url: "\(origin)/"))
        record.app = app
        return record
    }

    private static let ofApp = record(of: app)

    @Test func `B9: Downloads yield by themselves if they are discretionary or have a low priority`() {
        let rules = YieldRules()
        var record = Self.record()
        #expect(!rules.yields(record))
        record.priority = 0.49
        #expect(rules.yields(record))
        record.priority = 0.5
        record.rules.discretion = .full
        #expect(rules.yields(record))
        record.request.yields = false
        #expect(!rules.yields(record))
    }

    @Test func `B9: Downloads of an app yield while the app is in the background`() {
        var rules = YieldRules()
        #expect(rules.yields(Self.ofApp))
        var changes = [rules.use(Self.app, isInFront: true), rules.use(Self.app, isInFront: true)]
        #expect(!rules.yields(Self.ofApp))
        rules.mode = .on
        #expect(!rules.yields(Self.ofApp), "The user looks at the app.")
        changes.append(rules.use(Self.app, isInFront: false))
        #expect(rules.yields(Self.ofApp))
        #expect(changes == [true, false, true])
    }

    @Test func `B9: A program of the command line is not in the background`() {
        let program = Self.record(of: AppID(rawValue: "/usr/bin/backup"))
        #expect(program.app?.isProgram == true)
        #expect(!YieldRules().yields(program))
    }

    @Test func `B9: The setting for all downloads leaves a download's own wish`() {
        var rules = YieldRules()
        var low = Self.record()
        low.priority = 0.1
        var own = Self.record()
        own.request.yields = true
        rules.mode = .off
        #expect(!rules.yields(low) && !rules.yields(Self.ofApp) && rules.yields(own))
        rules.mode = .on
        own.request.yields = false
        #expect(rules.yields(Self.record()) && !rules.yields(own))
    }

    @Test func `B9: Uploads yield, but not transfers inside the machine`() {
        var rules = YieldRules()
        rules.mode = .on
        #expect(!rules.yields(Self.record(origin: "http://127.0.0.1:80")))
        #expect(rules.yields(Self.record(kind: .upload)))
    }
}
