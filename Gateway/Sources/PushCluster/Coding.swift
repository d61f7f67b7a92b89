import Foundation
import PushProtocol
import PushRouting
import PushStore

/// The stored form of a push: a line of JSON, followed by the payload as it was received. Decoding ignores unknown
/// keys, so gateways of two versions can share a store.
enum KeptPush {
    private struct Line: Codable {
        var id: String
        var device: String
        var topic: String
        var at: Int64
        var expiry: Int64?
        var priority: UInt8
        var type: UInt8
        var collapse: String?
        var silent: Bool
        var slot: String?
        var heldUntil: Int64?
    }

    static func encode(_ push: Push, slot: Slot?, heldUntil: Int64?) -> [UInt8] {
        let line = Line(
            id: Subjects.name(push.id), device: Subjects.name(push.device), topic: push.topic, at: push.receivedAt,
            expiry: push.expiry, priority: push.priority.rawValue, type: push.type.rawValue,
            collapse: push.collapseID, silent: push.isSilent, slot: slot?.text, heldUntil: heldUntil)
        guard let data = try? JSONEncoder().encode(line) else { return [] }
        return Array(data) + [0x0A] + push.payload
    }

    /// Decodes a stored push; nil if the bytes are invalid.
    static func decode(_ bytes: [UInt8]) -> (push: Push, slot: Slot?, heldUntil: Int64?)? {
        guard let end = bytes.firstIndex(of: 0x0A),
            let line = try? JSONDecoder().decode(Line.self, from: Data(bytes[..<end])),
            let id = Subjects.identifier(line.id), let device = Subjects.identifier(line.device),
            let priority = PushPriority(rawValue: line.priority), let type = PushType(rawValue: line.type)
        else { return nil }
        let push = Push(
            id: id, device: device, topic: line.topic, receivedAt: line.at,
            lifetime: line.expiry.map { .until($0) } ?? .once, priority: priority, type: type,
            collapseID: line.collapse, isSilent: line.silent, payload: Array(bytes[(end + 1)...]))
        return (push, line.slot.flatMap { Slot(text: $0) }, line.heldUntil)
    }

    static func stored(_ bytes: [UInt8], sequence: UInt64) -> QueuedPush? {
        guard let (push, slot, heldUntil) = decode(bytes), let slot else { return nil }
        return QueuedPush(push: push, slot: slot, sequence: Int64(sequence), heldUntil: heldUntil)
    }
}

/// The stored form of a log note about one push.
struct KeptNote: Codable {
    struct Event: Codable {
        var name: String
        var detail: String?
    }

    var at: Int64
    var events: [Event]
    var device: String?
    var topic: String?
    /// The slot for the push if no rate limit holds the push.
    var slot: String?
    var payload: Data?

    init(_ note: LogNote, slot: Slot?) {
        at = note.at
        events = note.events.map { Event(name: $0.name, detail: $0.detail) }
        guard let push = note.received else { return }
        events.insert(Event(name: DeliveryEvent.received.name, detail: nil), at: 0)
        device = Subjects.name(push.device)
        topic = push.topic
        self.slot = slot?.text
        payload = note.withPayload ? Data(push.payload) : nil
    }

    func entries(_ sequence: UInt64, push: PushID) -> [LogEntry] {
        events.enumerated().map { index, event in
            let isFirst = index == 0 && device != nil
            return LogEntry(
                entry: Int64(sequence), push: push, at: at, event: event.name, detail: event.detail,
                device: isFirst ? device.flatMap { Subjects.identifier($0) } : nil, topic: isFirst ? topic : nil,
                payload: isFirst ? payload.map { Array($0) } : nil)
        }
    }
}

/// The stored form of a device together with its apps' tokens. One value holds both, so that they change atomically.
struct KeptDevice: Codable {
    struct Token: Codable {
        var token: String
        var topic: String
        var createdAt: Int64
        var endedAt: Int64?
        var endedBy: TokenRecord.End?
    }

    var publicKey: Data
    var name: String
    var createdAt: Int64
    var revokedAt: Int64?
    var tokens: [Token] = []

    func record(_ id: DeviceID, seenAt: Int64? = nil) -> DeviceRecord {
        DeviceRecord(
            id: id, publicKey: Array(publicKey), name: name, createdAt: createdAt, seenAt: seenAt, revokedAt: revokedAt)
    }

    func records(_ id: DeviceID) -> [TokenRecord] {
        tokens.map {
            TokenRecord(
                token: $0.token, device: id, topic: $0.topic, createdAt: $0.createdAt, endedAt: $0.endedAt,
                endedBy: $0.endedBy)
        }
    }

    /// The topics for which pushes may be stored.
    var topics: [String] { tokens.filter { $0.endedAt == nil }.map(\.topic) }

    mutating func end(_ token: String, by end: TokenRecord.End, at: Int64) {
        guard let index = tokens.firstIndex(where: { $0.token == token }) else { return }
        tokens[index].endedAt = at
        tokens[index].endedBy = end
    }
}

extension KeptDevice {
    /// The result of a device's request to register a topic.
    struct Registration {
        var token: String
        var ended: String?
        /// The tokens whose owner need no longer be stored.
        var forgotten: [String] = []
    }

    mutating func register(
        _ topic: String, fresh: String, isFreshWanted: Bool, limit: Int, at: Int64
    ) throws(StoreError) -> Registration {
        guard revokedAt == nil else { throw StoreError(.refused, "The device is revoked.") }
        let current = tokens.first { $0.topic == topic && $0.endedAt == nil }
        if let current, !isFreshWanted { return Registration(token: current.token, forgotten: [fresh]) }
        if let current {
            end(current.token, by: .replaced, at: at)
        } else {
            let count = tokens.count { $0.endedAt == nil }
            guard count < limit else { throw StoreError(.refused, "The limit of \(limit) tokens is reached.") }
        }
        tokens.append(Token(token: fresh, topic: topic, createdAt: at))
        return Registration(token: fresh, ended: current?.token, forgotten: prune(topic, limit))
    }

    /// Removes ended tokens beyond the limits for `topic` and for the device, those that ended longest ago first.
    /// Returns the removed tokens. For a removed token, the gateway no longer reports that it has ended.
    private mutating func prune(_ topic: String, _ limit: Int) -> [String] {
        func ended() -> [Token] {
            tokens.filter { $0.endedAt != nil }
                .sorted { ($0.endedAt ?? 0, $0.createdAt) > ($1.endedAt ?? 0, $1.createdAt) }
        }
        var forgotten = Set(ended().filter { $0.topic == topic }.dropFirst(TokenRecord.endedOfTopic).map(\.token))
        tokens.removeAll { forgotten.contains($0.token) }
        forgotten.formUnion(ended().dropFirst(limit).map(\.token))
        tokens.removeAll { forgotten.contains($0.token) }
        return Array(forgotten)
    }
}

struct KeptEnrolment: Codable {
    var name: String
    var expiresAt: Int64
}

/// The parameters with which the store was created.
struct KeptForm: Codable {
    var version: Int
    var streams: Int
}
