package import PushProtocol

/// A valid push of an authorized provider, addressed to a known device.
package struct Push: Sendable, Hashable {
    package var id: PushID
    package var device: DeviceID
    /// The app's topic, without the suffix of the push type.
    package var topic: String
    /// The time at which the push was received, in milliseconds since 1970.
    package var receivedAt: Int64
    package var lifetime: Lifetime
    package var priority: PushPriority
    package var type: PushType
    package var collapseID: String?
    /// Whether the push only wakes the app, and shows nothing.
    package var isSilent: Bool
    package var payload: [UInt8]

    /// The time during which the gateway tries to deliver a push.
    package enum Lifetime: Sendable, Hashable {
        /// The lifetime of a push with only one attempt. The push is never stored.
        case once
        /// The lifetime of a push that expires at this time, in seconds since 1970.
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

    /// Returns whether the push has expired.
    package func isExpired(_ now: RouteTime) -> Bool {
        switch lifetime {
        case .once: false
        case .until(let time): time <= now.wallMilliseconds / 1_000
        }
    }

    /// Returns the slot for the push if no rate limit holds it.
    ///
    /// - Parameter keepsEach: the result of ``DeviceRoute/keepsEach(_:)`` for the push's topic.
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

/// The current time of two clocks.
package struct RouteTime: Sendable, Hashable {
    /// The seconds since an arbitrary start, including the time during which the machine slept.
    package var bootSeconds: Double
    /// The wall-clock time in milliseconds since 1970.
    package var wallMilliseconds: Int64

    package init(bootSeconds: Double, wallMilliseconds: Int64) {
        self.bootSeconds = bootSeconds
        self.wallMilliseconds = wallMilliseconds
    }

    package var wallSeconds: Int64 { wallMilliseconds / 1_000 }
}

/// A place in a device's storage, within one topic. A push that is stored in a place replaces the previous one.
package enum Slot: Sendable, Hashable {
    /// The latest alert for the topic that arrived while the device was not connected.
    case latest
    /// An alert that arrived while its device was connected. It replaces no other alert, and no other alert replaces
    /// it.
    case alert(PushID)
    /// The latest silent push that the rate limit allowed.
    case silent
    /// The silent push that is held by the rate limit.
    case held
    /// A UnifiedPush message, which replaces no other message.
    case message(PushID)
    /// The UnifiedPush message for one topic of its sender (RFC 8030, section 5.4).
    case named(String)

    /// A short text for use in a key. It has only letters, digits, hyphens and underscores.
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

    /// Whether a topic may have several stored pushes of this kind, within the limits of ``KeptMessages``.
    package var isKept: Bool {
        switch self {
        case .latest, .silent, .held: false
        case .alert, .message, .named: true
        }
    }

    /// Whether no newer push can be stored in the same place.
    package var isUnique: Bool {
        switch self {
        case .alert, .message: true
        case .latest, .silent, .held, .named: false
        }
    }

    package var isAlert: Bool { if case .alert = self { true } else { false } }
}

/// The limits on stored UnifiedPush messages and on stored alerts. At a limit, the oldest are removed to make room for
/// new ones.
package enum KeptMessages {
    /// The maximum number of messages of one registration.
    package static let count = 100
    package static let bytes = 400 << 10
    /// The maximum number of messages of all registrations of a device. It is also the maximum number of alerts that
    /// arrived while the device was connected.
    package static let countOfDevice = 1_000
    package static let bytesOfDevice = 4 << 20

    /// Decides which messages and alerts of a device are kept, and gives the reason for each removal. A higher sequence
    /// is newer.
    package static func bounded(
        _ messages: [QueuedPush]
    ) -> (kept: [QueuedPush], lost: [(stored: QueuedPush, why: DeliveryEvent.Discard)]) {
        let alerts = boundedApart(messages.filter(\.slot.isAlert), count: countOfDevice, bytes: bytesOfDevice)
        let others = boundedApart(messages.filter { !$0.slot.isAlert }, count: count, bytes: bytes)
        return (
            (alerts.kept + others.kept).sorted { $0.sequence < $1.sequence }, alerts.lost + others.lost
        )
    }

    /// Returns which messages of one kind are kept, and why the others are not.
    ///
    /// - Parameters:
    ///   - count: the maximum number of messages of one topic.
    ///   - bytes: the maximum size of all messages of one topic, in bytes.
    private static func boundedApart(
        _ messages: [QueuedPush], count: Int, bytes: Int
    ) -> (kept: [QueuedPush], lost: [(stored: QueuedPush, why: DeliveryEvent.Discard)]) {
        struct Place: Hashable {
            var topic: String
            var slot: Slot
        }
        var lost: [(stored: QueuedPush, why: DeliveryEvent.Discard)] = []
        var kept: [QueuedPush] = []
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

/// The place and identity of a stored push. They ensure that a removal never removes a newer push in the same place.
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

extension QueuedPush {
    /// Sorts pushes into the order in which they are sent to their device. A store may number kept pushes separately
    /// from others, so pushes of different kinds are ordered by their time of arrival.
    package static func inOrder(_ rows: [QueuedPush]) -> [QueuedPush] {
        let rows = rows.sorted { $0.sequence < $1.sequence }
        var kept = rows.filter(\.slot.isKept)[...]
        var ordered: [QueuedPush] = []
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

/// A push in the store that waits for its device.
package struct QueuedPush: Sendable, Hashable {
    package var push: Push
    package var slot: Slot
    /// A number that grows with every stored push, in order of arrival.
    package var sequence: Int64
    /// The time at which a held push is due, in milliseconds since 1970; nil for other pushes.
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
