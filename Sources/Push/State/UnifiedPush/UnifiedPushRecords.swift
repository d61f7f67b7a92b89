package import Device
package import Foundation
package import NightshiftAPI

/// The stored state of one UnifiedPush registration.
package struct UnifiedPushRegistration: Hashable, Sendable, Codable {
    /// The app's name for it, a secret shared by the app and this service.
    package var token: String
    /// The app's name on the bus.
    package var service: String
    package var description: String
    package var version: DistributorVersion
    /// The topic at the gateway.
    package var topic: String
    /// A number in the order of registration.
    package var number: Int64
    /// The token issued by the gateway.
    package var gatewayToken: String?
    /// The URL to which its senders send; nil until it is known.
    package var endpoint: String?
    /// Whether the app knows the endpoint.
    package var isAnnounced = false
    /// Whether the app was notified that it is registered.
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

/// The stored state of one message. Times are seconds since 1970.
package struct UnifiedPushMessage: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable {
        case waiting
        case delivered
        case discarded
    }

    package var id: String
    package var topic: String
    /// A number in the order of arrival.
    package var number: Int64
    package var received: Double
    /// The expiration date; nil if the message is delivered at once or not at all.
    package var expires: Double?
    /// The sender's topic: a later message with the same topic replaces this one while it waits.
    package var name: String?
    package var size: Int
    package var state = State.waiting
    /// The number of times that the app has refused it.
    package var refusals = 0
    /// The last decision, in a sentence.
    package var sentence = ""
}

/// The changes that one transaction writes.
package struct UnifiedPushChanges: Sendable {
    package var removed: Set<String> = []
    package var registrations: [UnifiedPushRegistration] = []
    package var messages: [UnifiedPushMessage] = []
    /// The payloads of waiting messages.
    package var payloads: [String: Data] = [:]
    /// The messages that have just arrived.
    package var received: Set<String> = []
    package var forgotten: [String] = []
    package var entries: [JournalEntry] = []
    /// The requests to send on the bus once these and all earlier changes are on disk.
    package var requests: [DistributorRequest] = []
    /// The number of the bus connection for which the requests are valid.
    package var connection = 0

    package var isEmpty: Bool {
        removed.isEmpty && registrations.isEmpty && messages.isEmpty && forgotten.isEmpty && entries.isEmpty
            && requests.isEmpty
    }
}
