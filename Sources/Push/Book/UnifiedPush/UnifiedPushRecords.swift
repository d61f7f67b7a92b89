package import Device
package import Foundation
package import NightshiftAPI

/// What is kept of one registration for UnifiedPush.
package struct UnifiedPushRegistration: Hashable, Sendable, Codable {
    /// The app's own name of it, a secret of the app and this service.
    package var token: String
    /// The app's name on the bus.
    package var service: String
    package var description: String
    package var version: DistributorVersion
    /// What the gateway knows it by.
    package var topic: String
    /// The order in which they came.
    package var number: Int64
    /// What the gateway has given for it.
    package var gatewayToken: String?
    /// Where its senders send to; nil where none is known.
    package var endpoint: String?
    /// Whether the app knows that endpoint.
    package var isAnnounced = false
    /// Whether the app was told that it is registered.
    package var isConfirmed = false
    /// Why there is no endpoint, in a sentence.
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

/// What is kept of one message. Times are seconds since 1970.
package struct UnifiedPushMessage: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable {
        case waiting
        case delivered
        case discarded
    }

    package var id: String
    package var topic: String
    /// The order in which they came.
    package var number: Int64
    package var received: Double
    /// Nil where it is delivered at once or not at all.
    package var expires: Double?
    /// The topic of its sender: a later message of the same replaces it while it waits.
    package var name: String?
    package var size: Int
    package var state = State.waiting
    /// How often the app has refused it.
    package var refusals = 0
    /// What was decided, in a sentence.
    package var sentence = ""
}

/// What one transaction writes.
package struct UnifiedPushChanges: Sendable {
    package var removed: Set<String> = []
    package var registrations: [UnifiedPushRegistration] = []
    package var messages: [UnifiedPushMessage] = []
    /// Of those that wait.
    package var payloads: [String: Data] = [:]
    /// Which of the messages came just now.
    package var received: Set<String> = []
    package var forgotten: [String] = []
    package var entries: [JournalEntry] = []
    /// What the bus is asked once this, and all that was decided before, is on disk.
    package var requests: [DistributorRequest] = []
    /// The connection to the bus that they are for.
    package var connection = 0

    package var isEmpty: Bool {
        removed.isEmpty && registrations.isEmpty && messages.isEmpty && forgotten.isEmpty && entries.isEmpty
            && requests.isEmpty
    }
}
