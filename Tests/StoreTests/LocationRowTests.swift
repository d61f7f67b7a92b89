import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// R6 R7: Tests of the database rows for location.
@Suite struct LocationRowTests {
    private struct Record: Codable, Sendable, Hashable {
        var value: Int
    }

    private static let app = AppID(rawValue: "org.example.app")
    private static let other = AppID(rawValue: "org.example.other")

    private static func kept(_ store: Store) async throws -> StoredLocation<Record, Record> {
        try await store.read { try $0.location(Record.self, Record.self) }
    }

    @Test func `R6: A later record replaces an earlier record of the same app`() async throws {
        let store = try await StoreFixture.inMemory()
        for value in 1...2 {
            try await store.write { transaction in
                try transaction.putLocation(Record(value: value), of: Self.app)
                try transaction.putLocationOfDevice(Record(value: value * 10))
            }
        }
        let kept = try await Self.kept(store)
        #expect(kept.apps == [Self.app: Record(value: 2)] && kept.device == Record(value: 20) && kept.unreadable == [])
    }

    @Test func `R6 R7: A withdrawn wake does not wake its app, and other wakes remain`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            for app in [Self.app, Self.other] {
                try transaction.putLocation(Record(value: 1), of: app)
                for key in ["home", "work"] { try transaction.putWake(app, .region, key: key, now: StoreFixture.now) }
                try transaction.putWake(app, .significantChange, now: StoreFixture.now)
                try transaction.putWake(app, .fetch, now: StoreFixture.now)
            }
        }
        func wakes(_ app: AppID) async throws -> [String] {
            try await store.read { try $0.wantedWakes() }.filter { $0.app == app }.map { "\($0.source) \($0.key)" }
        }
        try await store.write { try $0.deleteLocationWakes(of: Self.app, region: "home") }
        #expect(try await wakes(Self.app) == ["region work", "significantChange ", "fetch "])
        try await store.write { try $0.deleteSignificantChangeWake(of: Self.app) }
        #expect(try await wakes(Self.app) == ["region work", "fetch "])
        try await store.write { try $0.deleteLocation(of: Self.app) }
        #expect(try await wakes(Self.app) == ["fetch "])
        #expect(try await Self.kept(store).apps == [Self.other: Record(value: 1)])
        #expect(try await wakes(Self.other).count == 4)
    }

    @Test(arguments: [
        ("UPDATE location_apps SET record = '{' WHERE app = 'org.example.app'", ["location record of org.example.app"]),
        ("UPDATE location_device SET record = '{\"value\":\"x\"}'", ["location record of the device"]),
    ])
    func `R6: An unreadable location row does not affect other rows`(damage: String, names: [String]) async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            for app in [Self.app, Self.other] { try transaction.putLocation(Record(value: 1), of: app) }
            try transaction.putLocationOfDevice(Record(value: 2))
        }
        try store.close()
        try fixture.edit(damage)
        let kept = try await Self.kept(try fixture.open())
        #expect(kept.unreadable == names && kept.apps.count + (kept.device == nil ? 0 : 1) == 2)
    }

    /// A test that the rows of a database with the previous schema stay.
    @Test func `R6: A database with the previous schema keeps its wakes, ends and tasks`() async throws {
        let fixture = try StoreFixture()
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/Databases/0010.sqlite")
        try FileManager.default.copyItem(at: file, to: fixture.paths.database)
        let store = try fixture.open()
        let (wakes, ends) = try await store.read { (try $0.wantedWakes(), try $0.wakeEnds()) }
        #expect(wakes.map(\.source) == [.fetch, .push, .processing, .region] && wakes.map(\.through) == [1, 2, 4, 6])
        let event = try JSON.decode(LocationEvent.self, from: try #require(wakes[3].payload))
        #expect(event.kind == .entered && event.region?.identifier == wakes[3].key)
        #expect(ends.map(\.wake) == [3])
        let refresh = try await store.read { try $0.refresh(Record.self, Record.self) }
        #expect(refresh.apps == [Self.app: Record(value: 1)] && refresh.device == Record(value: 2))
        #expect(refresh.tasks.map(\.task.identifier) == ["index"] && refresh.unreadable == [])
        let kept = try await Self.kept(store)
        #expect(kept.apps.isEmpty && kept.device == nil && kept.unreadable.isEmpty)
        try await store.write { try $0.putLocation(Record(value: 3), of: Self.app) }
        #expect(try await Self.kept(store).apps == [Self.app: Record(value: 3)])
    }
}
