package import Device
package import Foundation
package import NightshiftAPI

/// The stored state of one UnifiedPush registration.
package struct UnifiedPushRegistration: Hashable, Sendable, Codable {
    /// The app's token for the registration. It is a secret of the app and this service.
    package var token: String
    /// The name of the app on the bus.
    package var service: String
    package var description: String
    package var version: DistributorVersion
    /// The topic of the registration at the gateway.
    package var topic: String
    /// The number of the registration in the order of registration.
    package var number: Int64
    /// The token that the gateway has issued.
    package var gatewayToken: String?
    /// The URL to which senders send messages; nil until the URL is known.
    package var endpoint: String?
    /// Whether the app has received the endpoint.
    package var isAnnounced = false
    /// Whether the app has been notified of its registration.
    package var isConfirmed = false
    /// The reason why there is no endpoint, in a sentence.
    package var error: String?

    init(_ wanted: DistributorRegistration, topic: String, number: Int64) {
        token = wanted.token
        service = wanted.service
        description = wanted.description
        version = wanted.version
        self.topic = topic
        self.number = number
    }

    package var app: AppID { AppID(rawValue: service) }
}

/// The stored state of one UnifiedPush message. Times are seconds since 1970.
package struct UnifiedPushMessage: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable {
        case waiting
        case delivered
        case discarded
    }

    package var id: String
    package var topic: String
    /// The number of the message in the order of arrival.
    package var number: Int64
    package var received: Double
    /// The expiration date; nil if the message is either delivered at once or discarded.
    package var expires: Double?
    /// The topic that the sender gave to the message. A later message with the same topic replaces this one while it
    /// waits.
    package var name: String?
    package var size: Int
    package var state = State.waiting
    /// The number of times that the app has refused the message.
    package var refusals = 0
    /// The last decision about the message, as a sentence.
    package var sentence = ""
}

/// The changes that one transaction writes.
package struct UnifiedPushChanges: Sendable {
    /// The topics of registrations that were removed.
    package var removed: [String] = []
    package var registrations: [UnifiedPushRegistration] = []
    package var messages: [UnifiedPushMessage] = []
    /// The payloads of waiting messages.
    package var payloads: [String: Data] = [:]
    package var forgotten: [String] = []
    package var entries: [JournalEntry]
    /// The requests to send on the bus after these and all earlier changes have been written to disk.
    package var requests: [DistributorRequest]
    /// The number of the bus connection for which the requests are valid.
    package var connection: Int

    package var isEmpty: Bool {
        removed.isEmpty && registrations.isEmpty && messages.isEmpty && forgotten.isEmpty && entries.isEmpty
            && requests.isEmpty
    }
}
