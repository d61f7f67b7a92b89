import Foundation
import GRDB
import NightshiftAPI
import Store
import Testing

/// R1 R10: Tests of the database rows for background refresh.
@Suite struct RefreshRowTests {
    private struct Record: Codable, Sendable, Hashable {
        var value: Int
    }

    private static let app = AppID(rawValue: "org.example.app")
    private static let other = AppID(rawValue: "org.example.other")

    private static func kept(_ store: Store) async throws -> StoredRefresh<Record, Record> {
        try await store.read { try $0.refresh(Record.self, Record.self) }
    }

    private static func task(
        _ identifier: String, of app: AppID = app, kind: ScheduledTask.Kind = .processing, began: Double? = nil
    ) -> StoredScheduledTask {
        var task = ScheduledTask(identifier: identifier, kind: kind)
        task.requiresPower = true
        var stored = StoredScheduledTask(app: app, task: task, submitted: 1_800_000_000.5)
        stored.began = began
        stored.progress = began == nil ? nil : ScheduledTaskProgress(completedUnits: 3, totalUnits: 9)
        return stored
    }

    @Test func `R1: Refresh records are stored, replaced and deleted separately for each app`() async throws {
        let store = try await StoreFixture.inMemory()
        #expect(try await Self.kept(store).apps.isEmpty)
        try await store.write { transaction in
            try transaction.putRefresh(Record(value: 1), of: Self.app)
            try transaction.putRefresh(Record(value: 2), of: Self.other)
            try transaction.putRefresh(Record(value: 3), of: Self.app)
            try transaction.putRefreshOfDevice(Record(value: 4))
            try transaction.putRefreshOfDevice(Record(value: 5))
        }
        let kept = try await Self.kept(store)
        #expect(kept.apps == [Self.app: Record(value: 3), Self.other: Record(value: 2)])
        #expect(kept.device == Record(value: 5) && kept.unreadable == [])
        try await store.write { transaction in
            for app in [Self.app, Self.other] {
                try transaction.putWake(app, .fetch, now: StoreFixture.now)
                try transaction.putWake(app, .push, now: StoreFixture.now)
                try transaction.put(Self.task("a", of: app))
            }
            let wake = try transaction.wantedWakes()[0]
            try transaction.finishWake(wake, WakeEnd(result: .noData, time: 1))
            try transaction.putWake(Self.app, .processing, key: "a", now: StoreFixture.now)
            try transaction.deleteRefresh(of: Self.app)
        }
        let rest = try await Self.kept(store)
        #expect(rest.apps.keys.map(\.self) == [Self.other] && rest.tasks.map(\.app) == [Self.other])
        let (wakes, ends) = try await store.read { (try $0.wantedWakes(), try $0.wakeEnds()) }
        #expect(ends.isEmpty)
        #expect(wakes.filter { $0.app == Self.app }.map(\.source) == [.push], "not what is others' to forget")
        #expect(wakes.filter { $0.app == Self.other }.count == 2)
    }

    @Test func `R10: A running task and a waiting task may have the same identifier`() async throws {
        let store = try await StoreFixture.inMemory()
        let (waits, runs) = (Self.task("a"), Self.task("a", began: 1_800_000_100.25))
        try await store.write { transaction in
            try transaction.put(waits)
            try transaction.put(runs)
            try transaction.put(Self.task("b", kind: .refresh))
        }
        #expect(try await Self.kept(store).tasks == [waits, runs, Self.task("b", kind: .refresh)])
        var later = waits
        later.submitted += 1
        try await store.write { [later] transaction in
            try transaction.put(later)
            try transaction.deleteScheduledTask(runs.key)
        }
        #expect(try await Self.kept(store).tasks == [later, Self.task("b", kind: .refresh)])
    }

    @Test func `R1: The end of a wake is stored in the wake's transaction, and deleted once processed`()
        async throws
    {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            for (source, key) in [(WakeSource.fetch, ""), (.processing, "p"), (.continued, "c"), (.region, "x")] {
                try transaction.putWake(Self.app, source, key: key, now: StoreFixture.now)
            }
        }
        let wakes = try await store.read { try $0.wantedWakes() }
        try await store.write { transaction in
            for (index, wake) in wakes.enumerated() {
                try transaction.finishWake(
                    wake, WakeEnd(result: RefreshResult.allCases[index % 3], detail: "\(index)", time: Double(index)))
            }
        }
        let ends = try await store.read { try $0.wakeEnds() }
        // The result of a region wake is not used.
        #expect(ends.map(\.source) == [.fetch, .processing, .continued] && ends.map(\.key) == ["", "p", "c"])
        #expect(ends.map(\.wake) == wakes.prefix(3).map(\.through) && ends.map(\.end.time) == [0, 1, 2])
        #expect(ends.map(\.end.result) == [.newData, .noData, .failed] && ends[1].end.detail == "1")
        await #expect(throws: StoreError.self) {
            try await store.write { transaction in
                try transaction.deleteWakeEnds(ends.map(\.id))
                throw StoreError(.other, "undone")
            }
        }
        #expect(try await store.read { try $0.wakeEnds() } == ends)
        #expect(try await store.read { try $0.wakeEnds(of: [.processing, .session]) } == [ends[1]])
        try await store.write { try $0.deleteWakeEnds([ends[0].id, ends[1].id]) }
        #expect(try await store.read { try $0.wakeEnds() } == [ends[2]])
        // Numbers are not reused, because they identify processed ends.
        try await store.write { transaction in
            try transaction.deleteWakeEnds([ends[2].id])
            try transaction.putWake(Self.app, .fetch, now: StoreFixture.now)
            try transaction.finishWake(
                try transaction.wantedWakes()[0], WakeEnd(result: .newData, time: 1))
        }
        #expect(try await store.read { try $0.wakeEnds() }.map(\.id) == [ends[2].id + 1])
    }

    @Test func `R1: The bytes since the start of a fetch equal the growth of the app's transfers`() async throws {
        let store = try await StoreFixture.inMemory()
        let session = SessionID(app: Self.app, identifier: "s")
        let task = try await store.write { transaction in
            _ = try transaction.putSession(Self.app, "s", SessionSettings())
            var task = try transaction.insert(.waiting(session: session))
            (task.received, task.sent) = (700, 30)
            try transaction.update(task)
            var stranger = try transaction.insert(.waiting())
            stranger.received = 5
            try transaction.update(stranger)
            return task
        }
        #expect(try await store.read { try $0.transferBytes(of: Self.app) } == 730)
        #expect(try await store.read { try $0.bytesSinceFetchBegan(of: Self.app) } == 0, "nothing has begun")
        try await store.write { transaction in
            try transaction.putRefresh(Record(value: 1), of: Self.app)
            try transaction.noteFetchBegins(of: Self.app)
            var grown = task
            (grown.received, grown.sent) = (1_700, 40)
            try transaction.update(grown)
            // The record alone does not contain the wakes.
            try transaction.putRefresh(Record(value: 2), of: Self.app)
        }
        #expect(try await store.read { try $0.bytesSinceFetchBegan(of: Self.app) } == 1_010)
        try await store.write { try $0.deleteSession(session) }
        #expect(try await store.read { try $0.bytesSinceFetchBegan(of: Self.app) } == 0)
    }

    @Test func `R1: A deletion of the learned use of apps keeps other data`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            for app in [Self.app, Self.other] {
                for decision in [Decision.useBegan, .useEnded, .fetchBegan] {
                    try transaction.record(JournalEntry(time: Date(), decision: decision, app: app))
                }
            }
            try transaction.deleteUse(of: Self.app)
        }
        func decisions(_ app: AppID) async throws -> [Decision] {
            try await store.read { try $0.history(of: app, limit: 9) }.map(\.decision)
        }
        #expect(try await decisions(Self.app) == [.fetchBegan])
        #expect(try await decisions(Self.other) == [.useBegan, .useEnded, .fetchBegan])
        try await store.write { try $0.deleteUse() }
        #expect(try await decisions(Self.other) == [.fetchBegan])
    }

    @Test func `R1: A deletion of learned use also deletes states, manual starts and use of the device`()
        async throws
    {
        let store = try await StoreFixture.inMemory()
        func record(_ entries: [(Decision, AppID?, String?, [String: String]?)]) async throws {
            try await store.write { transaction in
                for (decision, app, detail, inputs) in entries {
                    try transaction.record(
                        JournalEntry(time: Date(), decision: decision, app: app, detail: detail, inputs: inputs))
                }
            }
        }
        func left() async throws -> [JournalEntry] {
            try await store.read { try $0.journal(after: 0, limit: 100) }
        }
        // The words of earlier versions. The space is escaped because WordTests count them.
        let earlier = "By its\u{20}user, as process 9."
        try await record([
            (.appLaunched, Self.app, LaunchWords.inBackground.detail(7), nil),
            (.appLaunched, Self.app, LaunchWords.forUser.detail(8), nil),
            (.appLaunched, Self.app, LaunchWords.byUser.detail(9), nil),
            (.appLaunched, Self.app, "By you, as process 9.", nil),
            (.appLaunched, Self.app, earlier, nil),
            (.appLaunched, Self.app, LaunchWords.asCommand.detail(10), nil),
            (.appEntered, Self.app, "active", nil), (.appEntered, Self.other, "active", nil),
            (.appWoken, Self.app, nil, nil),
        ])
        try await store.write { try $0.deleteUse(of: Self.app) }
        #expect(try await left().map(\.decision) == [.appLaunched, .appLaunched, .appEntered, .appWoken])
        #expect(
            try await left().prefix(2).map(\.detail) == [
                "In the background, as process 7.", "As a command, process 10.",
            ])

        let all = ["idle": "no", "power": "battery"]
        try await record([
            (.deviceChanged, nil, "The conditions when the service started.", all),
            (.deviceChanged, nil, "idle: no → yes", ["idle": "yes"]), (.dozeBegan, nil, "Nobody uses it.", all),
            (.windowOpened, nil, nil, nil), (.windowClosed, nil, nil, nil),
            (.dozeEnded, nil, "Somebody is there.", all),
            (.deviceChanged, nil, "power: battery → external, idle: yes → no", ["idle": "no", "power": "external"]),
            (.deviceChanged, nil, "power: external → battery", ["power": "battery"]), (.deviceSlept, nil, nil, nil),
        ])
        try await store.write { try $0.deleteUse() }
        let rest = try await left().filter { $0.app == nil }
        #expect(rest.map(\.decision) == [.deviceChanged, .deviceChanged, .deviceChanged, .deviceSlept])
        #expect(rest.map(\.inputs) == [["power": "battery"], ["power": "external"], ["power": "battery"], nil])
        #expect(
            rest.map(\.detail) == ["The conditions when the service started.", nil, "power: external → battery", nil])
        #expect(try await left().allSatisfy { $0.decision != .appEntered })
    }

    @Test func `R1: An end that was not observed is stored without a result`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            try transaction.putWake(Self.app, .fetch, now: StoreFixture.now)
            for wake in try transaction.wantedWakes() {
                try transaction.finishWake(wake, WakeEnd(result: nil, detail: "Away.", time: 5))
            }
        }
        #expect(
            try await store.read { try $0.wakeEnds() }.map(\.end) == [WakeEnd(result: nil, detail: "Away.", time: 5)])
    }

    @Test(arguments: [
        (
            "UPDATE refresh_apps SET record = '{' WHERE app = 'org.example.app'",
            ["background refresh record of org.example.app"]
        ),
        ("UPDATE refresh_device SET record = '{\"value\":\"x\"}'", ["background refresh record of the device"]),
        ("UPDATE scheduled_tasks SET task = '{}' WHERE identifier = 'a'", ["scheduled task 'a' of org.example.app"]),
        (
            "UPDATE scheduled_tasks SET kind = 'refresh' WHERE identifier = 'a'",
            ["scheduled task 'a' of org.example.app"]
        ),
        ("UPDATE scheduled_tasks SET progress = '7'", []),
    ])
    func `R1: An unreadable refresh row does not affect other rows`(damage: String, names: [String]) async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            for app in [Self.app, Self.other] { try transaction.putRefresh(Record(value: 1), of: app) }
            try transaction.putRefreshOfDevice(Record(value: 2))
            for identifier in ["a", "b"] { try transaction.put(Self.task(identifier)) }
        }
        try store.close()
        try fixture.edit(damage)
        let next = try fixture.open()
        let kept = try await Self.kept(next)
        #expect(kept.unreadable == names)
        let readable = kept.apps.count + kept.tasks.count + (kept.device == nil ? 0 : 1)
        #expect(readable == 5 - names.count)
    }

    // MARK: - Old databases

    /// A test that opens a database of the previous schema with pending wakes. The numbers and rows of the wakes stay.
    @Test func `R1: Wakes of the previous schema remain, and new wakes get higher numbers`() async throws {
        let fixture = try StoreFixture()
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/Databases/0009.sqlite")
        try FileManager.default.copyItem(at: file, to: fixture.paths.database)
        let store = try fixture.open()
        let wakes = try await store.read { try $0.wantedWakes() }
        #expect(wakes.map(\.source) == [.fetch, .push, .processing] && wakes.map(\.through) == [1, 2, 4])
        #expect(wakes.map(\.key) == ["", "", "index"] && wakes[1].payload == Data(#"{"aps":{}}"#.utf8))
        #expect(wakes.map(\.expires) == [1_900, nil, nil])
        // The number of a deleted row is not reused.
        #expect(store.wakeSignal.last == 5)
        try await store.write { try $0.putWake(Self.app, .continued, key: "c", now: StoreFixture.now) }
        #expect(try await store.read { try $0.wantedWakes() }.last?.through == 6)
        #expect(try await Self.kept(store).apps.isEmpty)
    }
}
