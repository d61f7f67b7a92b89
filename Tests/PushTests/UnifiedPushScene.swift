import Device
import Foundation
import NightshiftAPI
import Push
import PushProtocol
import Store

/// A UnifiedPush state whose disk accepts every write, and whose apps answer as the test requires.
struct UnifiedPushScene: Sendable {
    var book = UnifiedPushState(isEnrolled: true)
    /// The state that the disk contains.
    private var durable = UnifiedPushState(isEnrolled: true)
    var now = StateScene.start
    /// The contents of the disk.
    var registrations: [String: UnifiedPushRegistration] = [:]
    var messages: [String: UnifiedPushMessage] = [:]
    var payloads: [String: Data] = [:]
    var entries: [JournalEntry] = []
    /// The calls that have no answer yet.
    var calls: [(number: UInt64, call: ConnectorCall)] = []
    var answers: [UInt64: DistributorAnswer] = [:]
    var watched: Set<String> = []
    /// The contents that the apps have received, in order.
    var taken: [ConnectorCall.Content] = []
    private var lastCall: UInt64 = 0
    private var lastID: UInt64 = 0
    private var lastTopic: UInt64 = 0

    static let service = "org.example.Chat"
    static let base = "https://push.example"

    init() {
        book.connectedToBus()
        book.connected(endpoints: Self.base, now: now)
        look()
    }

    mutating func look() {
        book.decide(at: now)
        let changes = book.changes(since: durable)
        write(changes)
        book.wrote(book)
        durable = book
        carryOut(changes.requests)
    }

    mutating func write(_ changes: UnifiedPushChanges) {
        for topic in changes.removed {
            registrations[topic] = nil
            messages = messages.filter { $0.value.topic != topic }
        }
        for registration in changes.registrations { registrations[registration.topic] = registration }
        for message in changes.messages {
            messages[message.id] = message
            payloads[message.id] = changes.payloads[message.id]
        }
        for id in changes.forgotten { messages[id] = nil }
        entries += changes.entries
    }

    private mutating func carryOut(_ requests: [DistributorRequest]) {
        for request in requests {
            switch request {
            case .answer(let call, let answer): answers[call] = answer
            case .call(let number, let call): calls.append((number, call))
            case .watch(let services): watched = services
            }
        }
    }

    // MARK: - Inputs

    @discardableResult
    mutating func register(
        _ token: String = "secret", service: String = UnifiedPushScene.service, version: DistributorVersion = .two,
        description: String = "An account"
    ) -> UInt64 {
        lastCall += 1
        lastTopic += 1
        let digits = String(lastTopic, radix: 16)
        let text = UnifiedPushTopic.prefix + String(repeating: "0", count: 32 - digits.count) + digits
        guard let topic = UnifiedPushTopic(text) else { return 0 }
        book.register(
            DistributorRegistration(service: service, token: token, description: description, version: version),
            call: lastCall, topic: topic, now: now)
        look()
        return lastCall
    }

    func topic(_ token: String = "secret") -> String {
        book.registrations.values.first { $0.token == token }?.topic ?? ""
    }

    /// Makes the gateway issue the requested tokens.
    mutating func give(_ token: String = "aa") {
        for topic in book.wanted { book.registered(topic, token: token, now: now) }
        look()
    }

    /// Adds a registration whose app knows its endpoint.
    mutating func registered(_ token: String = "secret", service: String = UnifiedPushScene.service) {
        register(token, service: service)
        give("token-of-\(token)")
        answer(.returned)
    }

    @discardableResult
    mutating func receive(
        _ bytes: [UInt8] = [1], token: String = "secret", expires: Double? = 86_400, name: String? = nil
    ) -> String {
        lastID += 1
        let message = message(lastID, bytes, topic: topic(token), expires: expires, name: name)
        book.received(message, now: now)
        look()
        return message.id.description
    }

    func message(
        _ number: UInt64, _ bytes: [UInt8], topic: String, expires: Double? = 86_400, name: String? = nil
    ) -> Message {
        Message(
            id: PushID(high: 9, low: number), topic: topic, timestamp: 0,
            expiry: expires.map { Int64(saturating: now + $0) },
            priority: .considerate, type: .unifiedpush, collapseID: name, isFromStorage: false, payload: bytes)
    }

    /// Answers the oldest waiting call.
    mutating func answer(_ outcome: ConnectorOutcome) {
        guard !calls.isEmpty else { return }
        let (number, call) = calls.removeFirst()
        if outcome == .returned { taken.append(call.content) }
        book.called(number, outcome, now: now)
        look()
    }

    mutating func pass(_ seconds: Double) {
        now += seconds
        look()
    }

    /// Lets time pass until the next deadline of the state.
    mutating func passToLook() {
        now = max(now, book.nextDeadline ?? now)
        look()
    }

    mutating func restart() {
        var kept = StoredUnifiedPush<UnifiedPushRegistration, UnifiedPushMessage>()
        kept.registrations = registrations.values.sorted { $0.number < $1.number }
        kept.messages = messages.values.sorted { $0.number < $1.number }.map { ($0, payloads[$0.id]) }
        durable = UnifiedPushState(kept, isEnrolled: true)
        book = durable
        book.begin(now: now)
        calls = []
        look()
        book.connectedToBus()
        book.connected(endpoints: Self.base, now: now)
        look()
    }

    func state(_ id: String) -> UnifiedPushMessage.State? { messages[id]?.state }
    var takenBytes: [[UInt8]] {
        taken.compactMap { content in
            if case .message(let bytes, _) = content { bytes } else { nil }
        }
    }
}
