/// A frame of a device channel.
///
/// In the protocol, a frame has a type (1 byte), the length of the rest (4 bytes, big-endian), and fields. A field has
/// a name (1 byte), a length (2 bytes) and its bytes. Receivers skip unknown fields, and unknown frames with a type
/// above 127.
package enum Frame: Sendable, Hashable {
    // These frames are sent by the gateway.
    case hello(version: UInt8, nonce: [UInt8])
    /// The frame that accepts a device. `endpoints` is the public URL of the gateway; nil if the gateway has no
    /// UnifiedPush endpoints. An endpoint consists of this URL, `/up/` and a token.
    case connected(keepAlive: UInt32, endpoints: String? = nil)
    case enrolled(DeviceID)
    case message(Message)
    case pong
    case registered(request: UInt32, topic: String, token: String)
    case unregistered(request: UInt32)
    case refused(request: UInt32, Refusal)

    // These frames are sent by the device.
    case connect(Connect)
    case enrol(code: String, key: [UInt8], name: String)
    case topics([TopicChoice])
    case acknowledge(PushID)
    /// A keep-alive. `interval` is the number of seconds until the device plans to send the next keep-alive.
    case ping(interval: UInt32)
    case state(ReportedActivity)
    /// A request for a token. `fresh` requests a token that differs from the last one of the topic.
    case register(request: UInt32, topic: String, fresh: Bool)
    case unregister(request: UInt32, topic: String)

    // These frames are sent by both sides.
    case goAway(Refusal, retryAfter: UInt32)
}

/// A device's proof of its identity, with its topics.
package struct Connect: Sendable, Hashable {
    package var version: UInt8
    package var device: DeviceID
    /// The Ed25519 signature of ``signedBytes(device:nonce:)``.
    package var signature: [UInt8]
    package var keepAlive: UInt32
    package var state: ReportedActivity
    package var topics: [TopicChoice]

    package init(
        version: UInt8 = ProtocolLimits.version, device: DeviceID, signature: [UInt8], keepAlive: UInt32,
        state: ReportedActivity, topics: [TopicChoice]
    ) {
        self.version = version
        self.device = device
        self.signature = signature
        self.keepAlive = keepAlive
        self.state = state
        self.topics = topics
    }

    /// Returns the bytes that a device signs. A device uses a different key for each gateway, so a gateway cannot use
    /// the signature at another gateway.
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
    /// The topic of the app, without the suffix for the push type.
    package var topic: String
    /// The time at which the gateway accepted the push, in milliseconds since 1970.
    package var timestamp: Int64
    /// The expiration time in seconds since 1970; nil if the gateway attempts only one delivery.
    package var expiry: Int64?
    package var priority: PushPriority
    package var type: PushType
    package var collapseID: String?
    package var isFromStorage: Bool
    /// The payload. It is JSON, except for UnifiedPush, where it is the sender's message with any content.
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

/// The reason for a refusal: a code for programs, and a text for people.
package struct Refusal: Sendable, Hashable {
    package var code: RefusalCode
    package var text: String

    package init(_ code: RefusalCode, _ text: String) {
        self.code = code
        self.text = text
    }
}
