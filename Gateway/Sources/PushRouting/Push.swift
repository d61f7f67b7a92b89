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

/// The two places that a topic has in a device's storage.
package enum Slot: UInt8, Sendable, Hashable, CaseIterable {
    /// The latest push for the topic.
    case latest = 0
    /// The silent push that the rate limit holds back.
    case held = 1

    /// A part of a key: short, and another one for each slot.
    package var text: String {
        switch self {
        case .latest: "l"
        case .held: "h"
        }
    }

    package init?(text: String) {
        guard let slot = Self.allCases.first(where: { $0.text == text }) else { return nil }
        self = slot
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
