import Foundation

/// A request of an operator to a running gateway, sent as one line of JSON over its socket.
package enum AdministrationRequest: Codable, Sendable {
    case addTeam(id: String, name: String)
    case suspendTeam(id: String, isSuspended: Bool)
    case teams
    case addKey(id: String, team: String, environment: String, pem: String)
    case revokeKey(id: String)
    case keys
    case addTopic(name: String, team: String)
    case topics
    case devices
    case device(id: String)
    case revokeDevice(id: String)
    /// A request for an enrolment code.
    ///
    /// - Parameter lifetime: the time for which the code is valid, in seconds.
    case enrol(name: String, lifetime: Int)
    case push(id: String)
    /// A request for the last `count` entries of the delivery log. With `follow`, new entries follow.
    case log(count: Int, follow: Bool)
    case status
}

/// A line of the gateway's answer, in JSON. A log has many lines. Every other answer has one line.
package enum AdministrationReply: Codable, Sendable {
    case done(String)
    case failed(String)
    case teams([Team])
    case keys([Key])
    case topics([Topic])
    case devices([Device])
    case device(Device, tokens: [Token], waiting: [Waiting])
    case enrolment(Enrolment)
    case log([Line])
    case status(Status)

    package struct Team: Codable, Sendable {
        package var id: String
        package var name: String
        package var isSuspended: Bool
    }

    package struct Key: Codable, Sendable {
        package var id: String
        package var team: String
        package var environment: String
        package var isRevoked: Bool
    }

    package struct Topic: Codable, Sendable {
        package var name: String
        package var team: String
    }

    package struct Device: Codable, Sendable {
        package var id: String
        package var name: String
        package var isConnected: Bool
        package var isRevoked: Bool
        package var createdAt: String
        package var seenAt: String?
    }

    package struct Token: Codable, Sendable {
        package var token: String
        package var topic: String
        package var endedAt: String?
        package var endedBy: String?
    }

    package struct Waiting: Codable, Sendable {
        package var id: String
        package var topic: String
        package var isHeld: Bool
        package var heldUntil: String?
        package var expiresAt: String
    }

    package struct Enrolment: Codable, Sendable {
        package var url: String
        package var code: String
        package var expiresAt: String
    }

    package struct Line: Codable, Sendable {
        package var push: String
        package var at: String
        package var event: String
        package var sentence: String
        package var detail: String?
        package var device: String?
        package var topic: String?
        package var payload: String?
    }

    package struct Status: Codable, Sendable {
        package var teams: Int
        package var devices: Int
        package var tokens: Int
        package var stored: Int
        /// The number of pushes held by the rate limit; nil if `stored` includes them.
        package var held: Int?
        package var providerConnections: Int
        package var deviceConnections: Int
    }
}

/// A converter between times and text in the format of RFC 3339, in UTC.
package enum TimestampText {
    /// Returns a time as text.
    ///
    /// - Parameter milliseconds: the time in milliseconds since 1970.
    package static func text(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        return date.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
    }
}
