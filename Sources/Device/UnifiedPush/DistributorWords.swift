/// The version of UnifiedPush's interfaces that an app uses.
package enum DistributorVersion: Int, Hashable, Sendable, Codable {
    case one = 1
    case two
}

/// A request of an app by `Register`.
package struct DistributorRegistration: Hashable, Sendable {
    /// The app's name on the bus.
    package var service: String
    /// The app's own name of the registration. Any client that knows it may end the registration.
    package var token: String
    package var description: String
    package var version: DistributorVersion

    package init(service: String, token: String, description: String, version: DistributorVersion) {
        self.service = service
        self.token = token
        self.description = description
        self.version = version
    }
}

/// The answer to an app's call.
package enum DistributorAnswer: Hashable, Sendable {
    case registered
    /// The second value is a sentence, which only version 1 can transmit.
    case failed(Failure, String)
    case unregistered

    /// The failure reasons of version 2.
    package enum Failure: String, Hashable, Sendable {
        case internalError = "INTERNAL_ERROR"
        case network = "NETWORK"
        case actionRequired = "ACTION_REQUIRED"
    }
}

/// A call to an app's connector.
package struct ConnectorCall: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case message([UInt8], id: String)
        case endpoint(String)
        case unregistered(isConfirmation: Bool)
    }

    package var service: String
    package var version: DistributorVersion
    package var token: String
    package var content: Content

    package init(service: String, version: DistributorVersion, token: String, content: Content) {
        self.service = service
        self.version = version
        self.token = token
        self.content = content
    }
}

/// The result of a call to a connector.
package enum ConnectorOutcome: Hashable, Sendable {
    case returned
    /// The app is missing or not ready. The text is the predicate of a sentence.
    case absent(String)
    /// The app has answered with an error.
    case refused(String)
}

/// An event of the bus.
package enum DistributorEvent: Hashable, Sendable {
    /// A bus is connected. Requests to an earlier one are lost.
    case connected
    case disconnected
    /// Whether this service owns the distributor's name. Another one of the same user may own it.
    case named(isOurs: Bool)
    /// A registration, which must be answered by ``DistributorRequest/answer(call:_:)``.
    case register(call: UInt64, DistributorRegistration)
    case unregister(call: UInt64, token: String)
    /// A watched app has connected to the bus.
    case appeared(service: String)
    /// The result of a requested call, once for each. Calls on a bus that was lost have no result.
    case called(number: UInt64, ConnectorOutcome)
}

package enum DistributorRequest: Hashable, Sendable {
    case answer(call: UInt64, DistributorAnswer)
    /// Calls an app, which the bus may start for this.
    case call(number: UInt64, ConnectorCall)
    /// Sets the apps whose appearance is reported.
    case watch(Set<String>)
}
