import NightshiftAPI
import Scheduler
import Store
import TestSupport
import Testing

/// Tests of the query that decides which apps to wake. Its results must equal those of the policy that simulations use.
@Suite struct SessionWakeTests {
    private static let app = AppID(rawValue: "org.example.app")
    private static let session = SessionID(app: app, identifier: "photos")

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `T9: The query and the policy choose the same wakes`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let store = try await StoreFixture.inMemory()
        var wake = SessionWake()
        wake.wakesApp = seed % 4 != 0
        var settings = SessionSettings()
        settings.sessionSendsLaunchEvents = wake.wakesApp
        try await store.write { [settings] in _ = try $0.putSession(Self.app, "photos", settings) }
        var open: [TaskRecord] = []
        for step in 0..<60 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0...1:
                open.append(try await store.write { try $0.insert(.waiting(session: Self.session)) })
            case 2:
                var suspended = TaskRecord.waiting(session: Self.session)
                suspended.state = .suspended
                _ = try await store.write { [suspended] in try $0.insert(suspended) }
            case 3 where !open.isEmpty:
                let record = open[Int.random(in: 0..<open.count, using: &random)]
                try await store.write {
                    try $0.putChallenge(of: record, Challenge(method: .digest, host: "a", port: 80, scheme: "http"))
                }
            case 4 where !open.isEmpty:
                var record = open.remove(at: Int.random(in: 0..<open.count, using: &random))
                record.state = .completed
                record.endedAt = 1_800_000_100
                record.endedBoot = 0
                try await store.write { [record] in try $0.update(record) }
            default:
                let through = wake.lastMessage
                try await store.write { try $0.finishWake(Self.session, through: through) }
                wake.wokenThrough = max(wake.wokenThrough, through)
            }
            let messages = try await store.read { try $0.messages(Self.session, after: 0, limit: 1_000) }
            wake.lastMessage = messages.map(\.id).max() ?? 0
            wake.hasChallenge = messages.contains { $0.kind == .challenge }
            wake.unfinished = open.count
            let wanted = try await store.read { try $0.wantedWakes() }
            #expect(wanted.map(\.reason) == (wake.reason.map { [$0] } ?? []), "seed \(seed), step \(step)")
            #expect(wanted.map(\.through) == (wake.reason == nil ? [] : [wake.lastMessage]), "seed \(seed)")
        }
    }
}
