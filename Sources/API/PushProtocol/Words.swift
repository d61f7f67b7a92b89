/// The type of a push (`apns-push-type`). The protocol uses the raw values.
package enum PushType: UInt8, Sendable, Hashable, CaseIterable {
    case alert = 1
    case background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets
    /// A message to a UnifiedPush endpoint. APNs providers cannot use this type.
    case unifiedpush

    package init?(name: String) {
        guard let type = Self.byName[name], type != .unifiedpush else { return nil }
        self = type
    }

    /// The types by their names. They are stored, because creating a name from a case is slow.
    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// The name of the type, as used in the header field.
    package var name: String { "\(self)" }
}

/// The priority of a push (`apns-priority`).
package enum PushPriority: UInt8, Sendable, Hashable, CaseIterable, Comparable {
    /// A priority at which the push never wakes the device.
    case whenAwake = 1
    /// A priority at which the push considers the device's power, and may be sent together with others.
    case considerate = 5
    case immediate = 10

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// A device's activity, as the device reports it to the gateway.
package enum ReportedActivity: UInt8, Sendable, Hashable, CaseIterable {
    case active = 1
    case idle
    case dozing
}

/// A device's filter for the pushes of one topic.
package enum TopicFilter: UInt8, Sendable, Hashable, CaseIterable {
    case enabled = 1
    /// The filter with which pushes are discarded.
    case ignored
    /// The filter with which pushes are sent only together with others, so that they do not cause a separate
    /// transmission.
    case opportunistic
    /// The filter with which pushes are stored until the topic is enabled again.
    case paused
}

/// The reason why one side closes a connection or refuses a request.
package enum RefusalCode: UInt8, Sendable, Hashable, CaseIterable {
    /// The bytes are invalid, or the frame is not allowed in the current state.
    case protocolError = 1
    /// The protocol version is not supported.
    case version
    /// The device is unknown or was revoked, or its signature is wrong.
    case notAuthenticated
    /// The enrolment code is unknown, used or expired.
    case enrolmentCode
    /// The gateway does not serve the topic.
    case unknownTopic
    /// The request exceeds a limit of the gateway.
    case tooMuch
    /// The same device has connected again, and the new connection replaces this one.
    case replaced
    /// The other side has been silent for too long.
    case idle
    /// The gateway is stopping. The device should reconnect after the given time.
    case shutdown
    /// The gateway has failed. A later attempt may work.
    case trouble
}

/// The limits of the protocol. A peer that exceeds a limit is disconnected.
package enum ProtocolLimits {
    package static let version: UInt8 = 1
    /// The maximum size of a frame in bytes, without its header. This is enough for a push of 5,120 bytes with its
    /// fields, or for the filters of 500 topics.
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
    /// The number of seconds within which the next step of the handshake must follow.
    package static let handshakeTimeout = 20
    /// The intervals between keep-alives, in seconds, that a gateway accepts.
    package static let keepAlive = 30...3_600
}
