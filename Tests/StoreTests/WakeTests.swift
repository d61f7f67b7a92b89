import Foundation
import GRDB
import NightshiftAPI
import Store
import Testing

/// Tests of wakes that features other than sessions write, in the transaction of the event.
@Suite struct WakeTests {
    private static let app = AppID(rawValue: "org.example.app")
    private static let others = WakeSource.allCases.filter { $0 != .session }

    private static func wanted(_ store: Store) async throws -> [WantedWake] {
        try await store.read { try $0.wantedWakes() }
    }

    private static func put(
        _ store: Store, _ source: WakeSource, key: String = "", app: AppID = app, payload: String? = nil,
        timeout: Double? = nil
    ) async throws {
        try await store.write {
            try $0.putWake(
                app, source, key: key, payload: payload.map { Data($0.utf8) }, timeout: timeout, now: StoreFixture.now
            )
        }
    }

    @Test(arguments: others) func `A new row adds a wake of the row's app, with the row's payload`(source: WakeSource)
        async throws
    {
        let store = try await StoreFixture.inMemory()
        let bytes = Data([0, 255, 10])
        try await store.write {
            try $0.putWake(
                Self.app, source, key: "k", payload: bytes, timeout: 60.5, now: StoreFixture.now)
        }
        let wake = WantedWake(
            app: Self.app, reason: WakeReason(source), key: "k", through: 1, payload: bytes, expires: 1_060.5)
        #expect(wake.source == source)
        #expect(try await Self.wanted(store) == [wake])
        #expect(store.wakeSignal.last == 1)
        #expect(store.messageSignal.last == 0)
    }

    @Test func `A rolled-back row does not wake its app`() async throws {
        let store = try await StoreFixture.inMemory()
        await #expect(throws: StoreError.self) {
            try await store.write { transaction in
                try transaction.putWake(Self.app, .fetch, now: StoreFixture.now)
                throw StoreError(.other, "undone")
            }
        }
        #expect(try await Self.wanted(store) == [])
        #expect(store.wakeSignal.last == 0)
    }

    @Test func `A later row with the same key replaces the earlier one, and counts as new`() async throws {
        let store = try await StoreFixture.inMemory()
        try await Self.put(store, .region, key: "home", payload: "in")
        let first = try #require(try await Self.wanted(store).first)
        try await Self.put(store, .region, key: "home", payload: "out", timeout: 5)
        let second = try #require(try await Self.wanted(store).first)
        #expect(second.identity == first.identity && second.through > first.through)
        #expect(second.payload == Data("out".utf8) && second.expires == 1_005)
        #expect(try await Self.wanted(store).count == 1)
        // The app was woken for the first row and completes that wake now. The second row is still pending.
        try await store.write { try $0.finishWake(first) }
        #expect(try await Self.wanted(store) == [second])
        try await store.write { try $0.finishWake(second) }
        #expect(try await Self.wanted(store) == [])
        // A repeated completion does not end a later wake.
        try await Self.put(store, .region, key: "home")
        try await store.write { try $0.finishWake(second) }
        let third = try #require(try await Self.wanted(store).first)
        #expect(third.through > second.through, "numbers are not given again")
        #expect(third.payload == nil && third.expires == nil)
    }

    @Test func `Wakes of different apps, sources or keys do not replace one another`() async throws {
        let store = try await StoreFixture.inMemory()
        let other = AppID(rawValue: "org.example.other")
        try await Self.put(store, .region, key: "home")
        try await Self.put(store, .region, key: "work")
        try await Self.put(store, .push)
        try await Self.put(store, .fetch)
        try await Self.put(store, .fetch, app: other)
        let wakes = try await Self.wanted(store)
        #expect(wakes.map(\.source) == [.region, .region, .push, .fetch, .fetch])
        try await store.write { try $0.finishWake(wakes[0]) }
        try await store.write { try $0.finishWake(wakes[3]) }
        #expect(try await Self.wanted(store) == [wakes[1], wakes[2], wakes[4]])
        try await store.write { try $0.deleteEverything(of: Self.app) }
        #expect(try await Self.wanted(store) == [wakes[4]])
    }

    @Test func `The list of wakes contains those of sessions and rows, and each ends separately`() async throws {
        let store = try await StoreFixture.inMemory()
        let session = SessionID(app: Self.app, identifier: "photos")
        try await store.write { transaction in
            _ = try transaction.putSession(Self.app, "photos", SessionSettings())
            var record = try transaction.insert(.waiting(session: session))
            record.state = .completed
            record.endedAt = 1_800_000_100
            try transaction.update(record)
            try transaction.putWake(Self.app, .push, key: "photos", now: StoreFixture.now)
        }
        let wakes = try await Self.wanted(store)
        #expect(wakes.map(\.reason) == [.sessionEvents, .push] && wakes.map(\.key) == ["photos", "photos"])
        try await store.write { try $0.finishWake(wakes[1]) }
        #expect(try await Self.wanted(store) == [wakes[0]])
        try await Self.put(store, .push, key: "photos")
        try await store.write { try $0.finishWake(wakes[0]) }
        #expect(try await Self.wanted(store).map(\.reason) == [.push])
    }

    @Test func `The next service finds a row again whose wake had not ended before a crash`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await Self.put(store, .push, payload: "{}", timeout: 30)
        var before = try await Self.wanted(store)
        #expect(before.map(\.expires) == [1_030])
        // The service crashes, so it does not close any files. The next service opens the same files after a reboot.
        // The time in between does not end a wake.
        let next = try fixture.open(ClockReading(bootID: "boot-2", bootSeconds: 5, wallSeconds: 1_800_000_900))
        before[0].expires = 30
        #expect(try await Self.wanted(next) == before)
        #expect(next.wakeSignal.last == before.first?.through)
        try await next.write { [before] in try $0.finishWake(before[0]) }
        try next.close()
        let last = try fixture.open()
        #expect(try await Self.wanted(last) == [])
        // The numbers continue after the last one.
        try await Self.put(last, .push)
        #expect(try await Self.wanted(last).first?.through == before[0].through + 1)
    }

    @Test func `A row that the schema refuses is rolled back with its transaction`() async throws {
        let store = try await StoreFixture.inMemory()
        try await Self.put(store, .push, payload: "old")
        let before = try await Self.wanted(store)
        let payloads: [(WakeSource, Int)] = [(.session, 0), (.push, 32_769)]
        for (source, size) in payloads {
            await #expect(throws: StoreError.self) {
                try await store.write {
                    try $0.putWake(Self.app, source, payload: Data(count: size), now: StoreFixture.now)
                }
            }
        }
        #expect(try await Self.wanted(store) == before)
        try await store.write { try $0.putWake(Self.app, .push, payload: Data(count: 32_768), now: StoreFixture.now) }
        #expect(try await Self.wanted(store).first?.payload?.count == 32_768)
    }

    @Test(arguments: ["boot-1", "boot-2"])
    func `R10: A wake expires by observed time, not by a wall clock forty days ahead`(
        bootID: String
    ) async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await Self.put(store, .processing, key: "work", timeout: 900)
        try store.close()
        var now = StoreFixture.now
        now.bootID = bootID
        now.bootSeconds = bootID == "boot-1" ? now.bootSeconds + 60 : 20
        now.wallSeconds += 40 * 86_400
        let next = try fixture.open(now)
        let wake = try #require(try await Self.wanted(next).first)
        // In the same boot, 60 s were observed. In the next boot, only the seconds since its start were observed.
        #expect(wake.expires.map { $0 - now.bootSeconds } == (bootID == "boot-1" ? 840 : 880))
        try next.close()
    }

    // MARK: - Old databases

    @Test func `The wall clock does not change how long a wake of the old form waits`() async throws {
        let fixture = try StoreFixture()
        let ninth = Self.old.deletingLastPathComponent().appending(path: "0009.sqlite")
        try FileManager.default.copyItem(at: ninth, to: fixture.paths.database)
        let now = ClockReading(bootID: "boot-2", bootSeconds: 5, wallSeconds: 1_803_456_000)
        let store = try fixture.open(now)
        let wakes = try await Self.wanted(store)
        #expect(wakes.map(\.source) == [.fetch, .push, .processing] && wakes.map(\.expires) == [900, nil, nil])
    }

    private static let old = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/Databases/0007-wakes.sqlite")

    @Test func `A running wake continues when this version replaces the service`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.old, to: fixture.paths.database)
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        let (apps, wakes) = try await store.read { (try $0.apps().records, try $0.wantedWakes()) }
        #expect(apps.map(\.id.rawValue) == ["org.example.Gone", "org.example.Idle", "org.example.Photos"])
        #expect(apps[0].processState == nil && apps[1].processState?.begun == [])
        let state = try #require(apps[2].processState)
        #expect(
            state.begun.map(\.wake) == [
                WantedWake(app: apps[2].id, reason: .challenge, key: "photos", through: 3),
                WantedWake(app: apps[2].id, reason: .sessionEvents, key: "al\"bums/ü", through: 9),
            ])
        #expect(state.begun.map(\.command) == [41, nil] && state.begun.map(\.deadline) == [930.5, 930.5])
        #expect(state.commands.map(\.command.session) == ["photos"] && state.launchedAt == 900.25)
        #expect(apps[2].background.openRun?.run.wakes == [.challenge, .sessionEvents])
        #expect(wakes.map(\.reason) == [.challenge] && wakes.map(\.key) == ["photos"])
        #expect(store.wakeSignal.last == 0)
        try await Self.put(store, .fetch)
        #expect(try await Self.wanted(store).map(\.source) == [.session, .fetch])
    }

    @Test func `An unreadable record does not prevent the migration of others`() async throws {
        let fixture = try StoreFixture()
        try FileManager.default.copyItem(at: Self.old, to: fixture.paths.database)
        try fixture.edit("INSERT INTO apps (id, record) VALUES ('org.example.Torn', '{')")
        let store = try fixture.open(ClockReading(bootID: "boot-1", bootSeconds: 1_500, wallSeconds: 1_800_001_000))
        #expect(try await Self.wanted(store).count == 1)
        try store.close()
        try fixture.edit("DELETE FROM apps WHERE id = 'org.example.Torn'")
        let next = try fixture.open()
        #expect(try await next.read { try $0.apps() }.records.last?.processState?.begun.count == 2)
    }
}
