package import PushProtocol

/// A push that a provider may send: checked, and for a device that is known.
package struct Push: Sendable, Hashable {
    package var id: PushID
    package var device: DeviceID
    /// The app's topic, without the suffix of the push type.
    package var topic: String
    /// Milliseconds since 1970.
    package var receivedAt: Int64
    package var lifetime: Lifetime
    package var priority: PushPriority
    package var type: PushType
    package var collapseID: String?
    /// Wakes the app and shows nothing.
    package var isSilent: Bool
    package var payload: [UInt8]

    /// For how long a push is worth its delivery.
    package enum Lifetime: Sendable, Hashable {
        /// One attempt, never stored.
        case once
        /// Seconds since 1970.
        case until(Int64)
    }

    package init(
        id: PushID, device: DeviceID, topic: String, receivedAt: Int64, lifetime: Lifetime, priority: PushPriority,
        type: PushType, collapseID: String?, isSilent: Bool, payload: [UInt8]
    ) {
        self.id = id
        self.device = device
        self.topic = topic
        self.receivedAt = receivedAt
        self.lifetime = lifetime
        self.priority = priority
        self.type = type
        self.collapseID = collapseID
        self.isSilent = isSilent
        self.payload = payload
    }

    package var expiry: Int64? {
        switch lifetime {
        case .once: nil
        case .until(let time): time
        }
    }

    /// Whether it is worth nothing any more.
    package func isExpired(_ now: Moment) -> Bool {
        switch lifetime {
        case .once: false
        case .until(let time): time <= now.wallMilliseconds / 1_000
        }
    }

    /// The place in which it is stored when no rate limit holds it.
    ///
    /// - Parameter keepsEach: ``DeviceRoute/keepsEach(_:)`` of its topic.
    package func slot(keepsEach: Bool) -> Slot {
        guard type != .unifiedpush else { return collapseID.map { .named($0) } ?? .message(id) }
        if isSilent { return .silent }
        return keepsEach ? .alert(id) : .latest
    }

    package func message(isFromStorage: Bool) -> Message {
        Message(
            id: id, topic: topic, timestamp: receivedAt, expiry: expiry, priority: priority, type: type,
            collapseID: collapseID, isFromStorage: isFromStorage, payload: payload)
    }
}

/// A reading of the clocks.
package struct Moment: Sendable, Hashable {
    /// Seconds that have passed, asleep or not, since some moment before.
    package var bootSeconds: Double
    /// Milliseconds since 1970.
    package var wallMilliseconds: Int64

    package init(bootSeconds: Double, wallMilliseconds: Int64) {
        self.bootSeconds = bootSeconds
        self.wallMilliseconds = wallMilliseconds
    }

    package var wallSeconds: Int64 { wallMilliseconds / 1_000 }
}

/// A place that a topic has in a device's storage. What is stored in a place replaces what was there.
package enum Slot: Sendable, Hashable {
    /// The latest alert for the topic, of those that came while the device was away.
    case latest
    /// An alert that came while its device was connected. It replaces none, and none replaces it.
    case alert(PushID)
    /// The latest silent push that has passed the rate limit.
    case silent
    /// The silent push that the rate limit holds back.
    case held
    /// A message of UnifiedPush, which replaces none.
    case message(PushID)
    /// The message of UnifiedPush for a topic of its sender (RFC 8030, section 5.4).
    case named(String)

    /// A short text that is part of a key: letters, digits, hyphens and underscores.
    package var text: String {
        switch self {
        case .latest: "latest"
        case .alert(let id): "a-\(id)"
        case .silent: "silent"
        case .held: "held"
        case .message(let id): "m-\(id)"
        case .named(let topic): "t-\(topic)"
        }
    }

    package init?(text: String) {
        switch text {
        case "latest": self = .latest
        case "silent": self = .silent
        case _ where text.hasPrefix("a-"):
            guard let id = PushID(String(text.dropFirst(2))) else { return nil }
            self = .alert(id)
        case "held": self = .held
        case _ where text.hasPrefix("m-"):
            guard let id = PushID(String(text.dropFirst(2))) else { return nil }
            self = .message(id)
        case _ where text.hasPrefix("t-"): self = .named(String(text.dropFirst(2)))
        default: return nil
        }
    }

    /// Whether several of one topic are kept, up to ``KeptMessages``.
    package var isKept: Bool {
        switch self {
        case .latest, .silent, .held: false
        case .alert, .message, .named: true
        }
    }

    /// Whether nothing newer comes into the same place.
    package var isUnique: Bool {
        switch self {
        case .alert, .message: true
        case .latest, .silent, .held, .named: false
        }
    }

    package var isAlert: Bool { if case .alert = self { true } else { false } }
}

/// How many messages of UnifiedPush and how many alerts are kept for a device; the oldest make room for new ones.
package enum KeptMessages {
    /// Of one registration.
    package static let count = 100
    package static let bytes = 400 << 10
    /// The bounds of all registrations of a device together, and of the alerts that came while it was connected.
    package static let countOfDevice = 1_000
    package static let bytesOfDevice = 4 << 20

    /// Which of a device's messages and alerts stay, and why the others do not. Their sequences say which are newer.
    package static func bounded(
        _ messages: [StoredPush]
    ) -> (kept: [StoredPush], lost: [(stored: StoredPush, why: DeliveryEvent.Discard)]) {
        let alerts = boundedApart(messages.filter(\.slot.isAlert), count: countOfDevice, bytes: bytesOfDevice)
        let others = boundedApart(messages.filter { !$0.slot.isAlert }, count: count, bytes: bytes)
        return (
            (alerts.kept + others.kept).sorted { $0.sequence < $1.sequence }, alerts.lost + others.lost
        )
    }

    /// - Parameters:
    ///   - count: the most messages of one topic.
    ///   - bytes: the most bytes of one topic.
    private static func boundedApart(
        _ messages: [StoredPush], count: Int, bytes: Int
    ) -> (kept: [StoredPush], lost: [(stored: StoredPush, why: DeliveryEvent.Discard)]) {
        struct Place: Hashable {
            var topic: String
            var slot: Slot
        }
        var lost: [(stored: StoredPush, why: DeliveryEvent.Discard)] = []
        var kept: [StoredPush] = []
        var newest: [Place: PushID] = [:]
        var total = (count: 0, bytes: 0)
        var registrations: [String: (count: Int, bytes: Int)] = [:]
        for stored in messages.sorted(by: { $0.sequence > $1.sequence }) {
            let topic = stored.push.topic
            let place = Place(topic: topic, slot: stored.slot)
            if let newer = newest[place] {
                lost.append((stored, .replaced(by: newer)))
                continue
            }
            newest[place] = stored.push.id
            let size = stored.push.payload.count
            let own = registrations[topic, default: (0, 0)]
            guard own.count < count, own.bytes + size <= bytes, total.count < countOfDevice,
                total.bytes + size <= bytesOfDevice
            else {
                lost.append((stored, .evicted))
                continue
            }
            registrations[topic] = (own.count + 1, own.bytes + size)
            total = (total.count + 1, total.bytes + size)
            kept.append(stored)
        }
        return (kept.reversed(), lost.reversed())
    }
}

/// Where a stored push is: enough to take it, and never a newer one, from storage.
package struct StoredPlace: Sendable, Hashable {
    package var id: PushID
    package var topic: String
    package var slot: Slot
    package var sequence: Int64

    package init(id: PushID, topic: String, slot: Slot, sequence: Int64) {
        self.id = id
        self.topic = topic
        self.slot = slot
        self.sequence = sequence
    }
}

extension StoredPush {
    /// The order in which pushes go to their device. A store may count those that are kept apart from the others: between the two
    /// kinds the time at which they came decides.
    package static func inOrder(_ rows: [StoredPush]) -> [StoredPush] {
        let rows = rows.sorted { $0.sequence < $1.sequence }
        var kept = rows.filter(\.slot.isKept)[...]
        var ordered: [StoredPush] = []
        for row in rows where !row.slot.isKept {
            while let next = kept.first,
                next.push.receivedAt < row.push.receivedAt
                    || (next.push.receivedAt == row.push.receivedAt && next.sequence < row.sequence)
            {
                ordered.append(next)
                kept.removeFirst()
            }
            ordered.append(row)
        }
        return ordered + kept
    }
}

/// A push in storage.
package struct StoredPush: Sendable, Hashable {
    package var push: Push
    package var slot: Slot
    /// Counts up with every push that is stored: the order in which they came.
    package var sequence: Int64
    /// Milliseconds since 1970 at which a held one has its turn.
    package var heldUntil: Int64?

    package init(push: Push, slot: Slot, sequence: Int64, heldUntil: Int64?) {
        self.push = push
        self.slot = slot
        self.sequence = sequence
        self.heldUntil = heldUntil
    }

    package var place: StoredPlace {
        StoredPlace(id: push.id, topic: push.topic, slot: slot, sequence: sequence)
    }
}
