/// What the two ends of a device channel say to each other.
///
/// On the wire: a type (1 byte), the length of what follows (4 bytes, the high one first), and fields. A field is its
/// name (1 byte), its length (2 bytes) and its bytes. Fields that a reader does not know are skipped, and so are
/// frames of a type above 127.
package enum Frame: Sendable, Hashable {
    // From the gateway.
    case hello(version: UInt8, nonce: [UInt8])
    /// `endpoints` is the gateway's public URL, to which `/up/` and a token are appended for an endpoint of
    /// UnifiedPush; nil where it gives none.
    case connected(keepAlive: UInt32, endpoints: String? = nil)
    case enrolled(DeviceID)
    case message(Message)
    case pong
    case registered(request: UInt32, topic: String, token: String)
    case unregistered(request: UInt32)
    case refused(request: UInt32, Refusal)

    // From the device.
    case connect(Connect)
    case enrol(code: String, key: [UInt8], name: String)
    case topics([TopicChoice])
    case acknowledge(PushID)
    /// `interval` is when the device means to say the next one, in seconds.
    case ping(interval: UInt32)
    case state(DeviceState)
    /// `fresh` asks for another token than the topic's last one.
    case register(request: UInt32, topic: String, fresh: Bool)
    case unregister(request: UInt32, topic: String)

    // From either.
    case goAway(Refusal, retryAfter: UInt32)
}

/// A device's proof of who it is, and what it wants.
package struct Connect: Sendable, Hashable {
    package var version: UInt8
    package var device: DeviceID
    /// Ed25519 over ``signedBytes(device:nonce:)``.
    package var signature: [UInt8]
    package var keepAlive: UInt32
    package var state: DeviceState
    package var topics: [TopicChoice]

    package init(
        version: UInt8 = ProtocolLimits.version, device: DeviceID, signature: [UInt8], keepAlive: UInt32,
        state: DeviceState, topics: [TopicChoice]
    ) {
        self.version = version
        self.device = device
        self.signature = signature
        self.keepAlive = keepAlive
        self.state = state
        self.topics = topics
    }

    /// What a device signs. A device makes a key of its own for each gateway, so a signature says nothing to another
    /// one.
    package static func signedBytes(device: DeviceID, nonce: [UInt8]) -> [UInt8] {
        Array("nightshift push connect 1\0".utf8) + device.bytes + nonce
    }
}

package struct TopicChoice: Sendable, Hashable {
    package var topic: String
    package var filter: TopicFilter

    package init(_ topic: String, _ filter: TopicFilter) {
        self.topic = topic
        self.filter = filter
    }
}

/// A push on its way to a device.
package struct Message: Sendable, Hashable {
    package var id: PushID
    /// The app's topic, without the suffix of its push type.
    package var topic: String
    /// Milliseconds since 1970 at which the gateway took it.
    package var timestamp: Int64
    /// Seconds since 1970; nil where the push has only one attempt.
    package var expiry: Int64?
    package var priority: PushPriority
    package var type: PushType
    package var collapseID: String?
    package var isFromStorage: Bool
    /// JSON; of a message for UnifiedPush whatever its sender has sent.
    package var payload: [UInt8]

    package init(
        id: PushID, topic: String, timestamp: Int64, expiry: Int64?, priority: PushPriority, type: PushType,
        collapseID: String?, isFromStorage: Bool, payload: [UInt8]
    ) {
        self.id = id
        self.topic = topic
        self.timestamp = timestamp
        self.expiry = expiry
        self.priority = priority
        self.type = type
        self.collapseID = collapseID
        self.isFromStorage = isFromStorage
        self.payload = payload
    }
}

/// Why something was not done: for the program and for a person.
package struct Refusal: Sendable, Hashable {
    package var code: RefusalCode
    package var text: String

    package init(_ code: RefusalCode, _ text: String) {
        self.code = code
        self.text = text
    }
}
