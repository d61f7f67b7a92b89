/// What a push is for (`apns-push-type`). Raw values are those of the wire.
package enum PushType: UInt8, Sendable, Hashable, CaseIterable {
    case alert = 1
    case background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets
    /// A message to an endpoint of UnifiedPush. No provider of APNs can name it.
    case unifiedpush

    package init?(name: String) {
        guard let type = Self.byName[name], type != .unifiedpush else { return nil }
        self = type
    }

    /// Names are those of the cases, which are slow to ask for.
    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// As the header spells it.
    package var name: String { "\(self)" }
}

/// How urgent a push is (`apns-priority`).
package enum PushPriority: UInt8, Sendable, Hashable, CaseIterable, Comparable {
    /// Never wakes the device.
    case whenAwake = 1
    /// With regard to power; may be grouped.
    case considerate = 5
    case immediate = 10

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// How awake a device says it is.
package enum DeviceState: UInt8, Sendable, Hashable, CaseIterable {
    case active = 1
    case idle
    case dozing
}

/// What a device wants of a topic.
package enum TopicFilter: UInt8, Sendable, Hashable, CaseIterable {
    case enabled = 1
    /// Pushes are discarded.
    case ignored
    /// Pushes ride along with what is sent anyway.
    case opportunistic
    /// Pushes are stored until the topic is enabled again.
    case paused
}

/// Why one side ends a connection, or refuses a request.
package enum RefusalCode: UInt8, Sendable, Hashable, CaseIterable {
    /// Bytes that are no frame, or a frame at the wrong time.
    case protocolError = 1
    /// A version that the other side does not speak.
    case version
    /// An unknown device, a wrong signature, or a device that was revoked.
    case notAuthenticated
    /// A code that is unknown, used or too old.
    case enrolmentCode
    /// The gateway carries no such topic.
    case unknownTopic
    /// More than the gateway's limits allow.
    case tooMuch
    /// The same device has connected again.
    case replaced
    /// Nothing was heard for too long.
    case idle
    /// The gateway stops; come back after the time that it names.
    case shutdown
    /// The gateway failed at something; the same may work later.
    case trouble
}

/// Bounds of the protocol. A peer that exceeds one is disconnected.
package enum ProtocolLimits {
    package static let version: UInt8 = 1
    /// Bytes of a frame behind its head: a push of 5,120 bytes with its fields, or the filters of 500 topics.
    package static let frameLength = 65_536
    package static let topics = 1_024
    package static let topicLength = 255
    package static let payloadLength = 5_120
    package static let textLength = 1_024
    package static let nonceLength = 32
    package static let keyLength = 32
    package static let signatureLength = 64
    package static let tokenLength = 128
    package static let codeLength = 64
    package static let collapseLength = 64
    package static let endpointsLength = 512
    /// Seconds for which a side waits for the next step of the handshake.
    package static let handshakePatience = 20
    /// Seconds between keep-alives that a gateway accepts.
    package static let keepAlive = 30...3_600
}
