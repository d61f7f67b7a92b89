package import PushProtocol

/// Who sends: a team, and the keys and topics that are its own.
package struct TeamRecord: Sendable, Hashable, Codable {
    /// Ten characters, as a provider's token names it.
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

/// A key with which a team signs its tokens.
package struct KeyRecord: Sendable, Hashable, Codable {
    package enum Environment: String, Sendable, Hashable, CaseIterable, Codable {
        case any, development, production
    }

    /// Ten characters, as a provider's token names it.
    package var id: String
    package var team: String
    package var environment: Environment
    /// PEM.
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

/// An app's address on a device.
package struct TokenRecord: Sendable, Hashable {
    package enum End: String, Sendable, Hashable, Codable {
        /// The app is gone, or the device is.
        case unregistered
        /// The app has asked for another.
        case replaced
    }

    /// Tokens of one topic of a device that have ended and still answer that they have.
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
