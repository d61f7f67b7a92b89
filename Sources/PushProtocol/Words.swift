/// The type of a push (`apns-push-type`). The raw values are used in the protocol.
package enum PushType: UInt8, Sendable, Hashable, CaseIterable {
    case alert = 1
    case background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets
    /// A message to a UnifiedPush endpoint. APNs providers cannot use this type.
    case unifiedpush

    package init?(name: String) {
        guard let type = Self.byName[name], type != .unifiedpush else { return nil }
        self = type
    }

    /// The types by name. Creating names from cases is slow, so they are stored.
    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// The name as used in the header field.
    package var name: String { "\(self)" }
}

/// The priority of a push (`apns-priority`).
package enum PushPriority: UInt8, Sendable, Hashable, CaseIterable, Comparable {
    /// The push never wakes the device.
    case whenAwake = 1
    /// The push respects the device's power, and may be grouped with others.
    case considerate = 5
    case immediate = 10

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// The activity of a device, as reported by the device.
package enum ReportedActivity: UInt8, Sendable, Hashable, CaseIterable {
    case active = 1
    case idle
    case dozing
}

/// A device's filter for a topic.
package enum TopicFilter: UInt8, Sendable, Hashable, CaseIterable {
    case enabled = 1
    /// Pushes are discarded.
    case ignored
    /// Pushes are sent together with others, and cause no transmission of their own.
    case opportunistic
    /// Pushes are stored until the topic is enabled again.
    case paused
}

/// The reason why one side closes a connection or refuses a request.
package enum RefusalCode: UInt8, Sendable, Hashable, CaseIterable {
    /// Invalid bytes, or a frame that is not allowed in the current state.
    case protocolError = 1
    /// An unsupported protocol version.
    case version
    /// An unknown device, a wrong signature, or a device that was revoked.
    case notAuthenticated
    /// An enrolment code that is unknown, used or expired.
    case enrolmentCode
    /// A topic that the gateway does not serve.
    case unknownTopic
    /// A request beyond the gateway's limits.
    case tooMuch
    /// The same device has connected again.
    case replaced
    /// Nothing was received for too long.
    case idle
    /// The gateway is stopping. The device should reconnect after the given time.
    case shutdown
    /// A failure of the gateway. A retry may work later.
    case trouble
}

/// Limits of the protocol. A peer that exceeds one is disconnected.
package enum ProtocolLimits {
    package static let version: UInt8 = 1
    /// The maximum size of a frame without its header, in bytes: enough for a push of 5,120 bytes with its fields, or
    /// for filters of 500 topics.
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
    /// The timeout in seconds for the next step of the handshake.
    package static let handshakeTimeout = 20
    /// The seconds between keep-alives that a gateway accepts.
    package static let keepAlive = 30...3_600
}
