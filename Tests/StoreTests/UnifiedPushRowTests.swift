import Foundation
import GRDB
import NightshiftAPI
import Testing

@testable import Store

struct UnifiedPushRowTests {
    private struct Record: Codable, Hashable, Sendable {
        var value: Int
    }

    private static func kept(_ store: Store) async throws -> StoredUnifiedPush<Record, Record> {
        try await store.read { try $0.unifiedPush(Record.self, Record.self) }
    }

    @Test func `B7: Registrations and messages are stored, replaced and deleted`() async throws {
        let store = try Store(inMemory: StoreFixture.now)
        try await store.write { transaction in
            for (number, topic) in ["a", "b"].enumerated() {
                try transaction.putUnifiedPush(Record(value: number), topic: topic)
                for id in ["1", "2"] {
                    try transaction.putUnifiedPushMessage(
                        id + topic, topic: topic, Record(value: 5), payload: Data([0, 255]))
                }
            }
            try transaction.putUnifiedPush(Record(value: 7), topic: "a")
            try transaction.putUnifiedPushMessage("1a", topic: "a", Record(value: 6), payload: nil)
        }
        let kept = try await Self.kept(store)
        #expect(kept.registrations.map(\.value) == [7, 1])
        #expect(kept.messages.map(\.record.value) == [6, 5, 5, 5], "as they came")
        #expect(kept.messages.map(\.payload) == [nil] + Array(repeating: Data([0, 255]), count: 3))
        try await store.write { transaction in
            try transaction.deleteUnifiedPush(topic: "a")
            try transaction.deleteUnifiedPushMessages(["1b"])
        }
        let rest = try await Self.kept(store)
        #expect(rest.registrations.map(\.value) == [1] && rest.messages.count == 1)
    }

    @Test func `B7: An unreadable UnifiedPush row does not affect other rows`() async throws {
        let store = try Store(inMemory: StoreFixture.now)
        try await store.write { transaction in
            try transaction.putUnifiedPush("nonsense", topic: "a")
            try transaction.putUnifiedPush(Record(value: 1), topic: "b")
            try transaction.putUnifiedPushMessage("1", topic: "b", "nonsense", payload: nil)
        }
        let kept = try await Self.kept(store)
        #expect(kept.registrations == [Record(value: 1)] && kept.messages.isEmpty)
        #expect(kept.unreadable == ["UnifiedPush registration a", "UnifiedPush message 1"])
    }
}
