import Foundation
import GRDB
import NightshiftAPI
import Store
import Testing

/// R3: Tests of the database rows for remote notifications.
@Suite struct PushRowTests {
    private struct Record: Codable, Sendable, Hashable {
        var value: Int
    }

    private static let app = AppID(rawValue: "org.example.app")
    private static let other = AppID(rawValue: "org.example.other")

    private static func kept(_ store: Store) async throws -> StoredPushes<Record, Record, Record> {
        try await store.read { try $0.pushes(Record.self, Record.self, Record.self) }
    }

    @Test func `R3: Push records and pushes are stored, replaced and deleted separately for each app`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            try transaction.putPushOfDevice(Record(value: 1))
            try transaction.putPushOfDevice(Record(value: 2))
            for app in [Self.app, Self.other] {
                try transaction.putPush(Record(value: 3), of: app)
                try transaction.putPushMessage("1 \(app)", of: app, Record(value: 4), payload: Data("{}".utf8))
                try transaction.putPushWake(
                    "1 \(app)", of: app, payload: Data("p".utf8), timeout: 5, now: StoreFixture.now)
                try transaction.putWake(app, .fetch, now: StoreFixture.now)
            }
            try transaction.putPushMessage("0", of: Self.app, Record(value: 6), payload: nil)
            try transaction.putPushMessage("1 \(Self.app)", of: Self.app, Record(value: 7), payload: nil)
        }
        let kept = try await Self.kept(store)
        #expect(kept.device == Record(value: 2) && kept.unreadable == [])
        #expect(kept.apps == [Self.app: Record(value: 3), Self.other: Record(value: 3)])
        #expect(kept.pushes.map(\.id) == ["1 \(Self.app)", "1 \(Self.other)", "0"], "as they came")
        #expect(kept.pushes.map(\.record.value) == [7, 4, 6])
        #expect(kept.pushes.map(\.payload) == [nil, Data("{}".utf8), nil])
        let wakes = try await store.read { try $0.wantedWakes() }.filter { $0.source == .push }
        #expect(kept.pushes.map(\.wake) == [wakes[0].through, wakes[1].through, nil], "the number stays")
        #expect(wakes[0].payload == Data("p".utf8) && wakes[0].expires == 1_005 && wakes[0].key == "")

        try await store.write { try $0.deletePushes(of: Self.app) }
        let rest = try await Self.kept(store)
        #expect(rest.apps.keys.map(\.self) == [Self.other] && rest.pushes.map(\.app) == [Self.other])
        let left = try await store.read { try $0.wantedWakes() }.filter { $0.app == Self.app }
        #expect(left.map(\.source) == [.fetch], "what others wait for stays")
        try await store.write { try $0.deletePushMessages(["1 \(Self.other)"]) }
        #expect(try await Self.kept(store).pushes.isEmpty)
    }

    @Test func `R3: Pushes with different keys wait separately, and end separately`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            for id in ["a", "b", "c", "d"] {
                let key = id == "a" || id == "d" ? "" : id
                try transaction.putPushMessage(id, of: Self.app, Record(value: 1), payload: Data())
                try transaction.putPushWake(
                    id, of: Self.app, key: key, payload: Data(id.utf8), timeout: nil, now: StoreFixture.now)
            }
            let wakes = try transaction.wantedWakes()
            #expect(wakes.map(\.payload) == ["b", "c", "d"].map { Data($0.utf8) })
            for wake in wakes.reversed() { try transaction.finishWake(wake, WakeEnd(result: .noData, time: 1)) }
        }
        let told = try await store.read { transaction in
            try transaction.wakeEnds(of: [.push]).map { try transaction.pushMessage(ofWake: $0.wake) }
        }
        #expect(told == ["d", "c", "b"])
    }

    @Test func `R3: The end of a wake belongs to its own push, even after a newer push has replaced it`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            for id in ["a", "b"] {
                try transaction.putPushMessage(id, of: Self.app, Record(value: 1), payload: Data())
                try transaction.putPushWake(id, of: Self.app, payload: Data(), timeout: nil, now: StoreFixture.now)
                let wake = try transaction.wantedWakes()[0]
                if id == "a" { try transaction.finishWake(wake, WakeEnd(result: .noData, time: 1)) }
            }
            try transaction.putPushMessage("c", of: Self.app, Record(value: 1), payload: Data())
            try transaction.putPushWake("c", of: Self.app, payload: Data(), timeout: nil, now: StoreFixture.now)
            let wakes = try transaction.wantedWakes()
            #expect(wakes.count == 1, "one waits, the newest")
            try transaction.finishWake(wakes[0], WakeEnd(result: .newData, time: 2))
        }
        let told = try await store.read { transaction in
            try transaction.wakeEnds(of: [.push]).map { try transaction.pushMessage(ofWake: $0.wake) }
        }
        #expect(told == ["a", "c"])
        #expect(try await store.read { try $0.pushMessage(ofWake: 99) } == nil)
    }

    @Test func `R3: An unreadable push record does not affect other records`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.putPush(Record(value: 1), of: Self.app)
            try transaction.putPush(["no": "record"], of: Self.other)
            try transaction.putPushOfDevice("none")
            try transaction.putPushMessage("a", of: Self.app, Record(value: 2), payload: nil)
            try transaction.putPushMessage("b", of: Self.app, "none", payload: nil)
        }
        let kept = try await Self.kept(store)
        #expect(kept.apps == [Self.app: Record(value: 1)] && kept.pushes.map(\.id) == ["a"])
        #expect(
            kept.unreadable == [
                "remote notification record of \(Self.other)", "remote notification record of the device",
                "push b of \(Self.app)",
            ])
    }

    @Test func `R3: A payload that is too large is refused`() async throws {
        let store = try await StoreFixture.inMemory()
        for (size, fits) in [(Limits.pushPayload, true), (Limits.pushPayload + 1, false)] {
            let write = {
                try await store.write {
                    try $0.putPushMessage("a", of: Self.app, Record(value: 1), payload: Data(count: size))
                }
            }
            if fits { try await write() } else { await #expect(throws: StoreError.self) { try await write() } }
        }
    }
}
