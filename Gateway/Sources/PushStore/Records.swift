package import PushProtocol

/// A team of providers, to which keys and topics belong.
package struct TeamRecord: Sendable, Hashable, Codable {
    /// The team's id of ten characters, which appears in the provider's tokens.
    package var id: String
    package var name: String
    package var createdAt: Int64
    package var suspendedAt: Int64?

    package init(id: String, name: String, createdAt: Int64, suspendedAt: Int64? = nil) {
        self.id = id
        self.name = name
        self.createdAt = createdAt
        self.suspendedAt = suspendedAt
    }
}

/// A key with which a team signs its provider tokens.
package struct KeyRecord: Sendable, Hashable, Codable {
    package enum Environment: String, Sendable, Hashable, CaseIterable, Codable {
        case any, development, production
    }

    /// The key's id of ten characters, which appears in the provider's tokens.
    package var id: String
    package var team: String
    package var environment: Environment
    /// The public key in PEM format.
    package var publicKey: String
    package var createdAt: Int64
    package var revokedAt: Int64?

    package init(
        id: String, team: String, environment: Environment, publicKey: String, createdAt: Int64, revokedAt: Int64? = nil
    ) {
        self.id = id
        self.team = team
        self.environment = environment
        self.publicKey = publicKey
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

package struct TopicRecord: Sendable, Hashable, Codable {
    package var name: String
    package var team: String
    package var createdAt: Int64
}

package struct DeviceRecord: Sendable, Hashable {
    package var id: DeviceID
    package var publicKey: [UInt8]
    package var name: String
    package var createdAt: Int64
    package var seenAt: Int64?
    package var revokedAt: Int64?

    package init(id: DeviceID, publicKey: [UInt8], name: String, createdAt: Int64, seenAt: Int64?, revokedAt: Int64?) {
        self.id = id
        self.publicKey = publicKey
        self.name = name
        self.createdAt = createdAt
        self.seenAt = seenAt
        self.revokedAt = revokedAt
    }
}

/// A device token: the address of one topic on one device.
package struct TokenRecord: Sendable, Hashable {
    package enum End: String, Sendable, Hashable, Codable {
        /// The app was unregistered, or its device was revoked.
        case unregistered
        /// The app requested another token.
        case replaced
    }

    /// The maximum number of remembered ended tokens for each device and topic. For these tokens the gateway still
    /// reports that they have ended.
    package static let endedOfTopic = 8

    package var token: String
    package var device: DeviceID
    package var topic: String
    package var createdAt: Int64
    package var endedAt: Int64?
    package var endedBy: End?

    package init(
        token: String, device: DeviceID, topic: String, createdAt: Int64, endedAt: Int64? = nil, endedBy: End? = nil
    ) {
        self.token = token
        self.device = device
        self.topic = topic
        self.createdAt = createdAt
        self.endedAt = endedAt
        self.endedBy = endedBy
    }
}
