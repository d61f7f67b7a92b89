/// Which of the two versions of UnifiedPush's interfaces an app speaks.
package enum DistributorVersion: Int, Hashable, Sendable, Codable {
    case one = 1
    case two
}

/// What an app asks for with `Register`.
package struct DistributorRegistration: Hashable, Sendable {
    /// The app's name on the bus.
    package var service: String
    /// The app's own name of the registration. Whoever knows it may end the registration.
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

/// How an app's call is answered.
package enum DistributorAnswer: Hashable, Sendable {
    case registered
    /// The second is a sentence, for which only version 1 has a place.
    case failed(Failure, String)
    case unregistered

    /// The reasons of version 2.
    package enum Failure: String, Hashable, Sendable {
        case internalError = "INTERNAL_ERROR"
        case network = "NETWORK"
        case actionRequired = "ACTION_REQUIRED"
    }
}

/// A call of an app's connector.
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

/// What became of a call of a connector.
package enum ConnectorOutcome: Hashable, Sendable {
    case returned
    /// The app is not there, or not ready; why, in a sentence's second half.
    case absent(String)
    /// The app has answered with an error.
    case refused(String)
}

/// What happens on the bus.
package enum DistributorEvent: Hashable, Sendable {
    /// There is a bus. What was asked of one before is forgotten.
    case connected
    case disconnected
    /// Whether apps that look for this distributor reach this service; another one of the same user may have its name.
    case named(isOurs: Bool)
    /// To be answered by ``DistributorRequest/answer(call:_:)``.
    case register(call: UInt64, DistributorRegistration)
    case unregister(call: UInt64, token: String)
    /// An app that is watched has come to the bus.
    case appeared(service: String)
    /// Of each call that was asked for, once; none of those of a bus that went away.
    case called(number: UInt64, ConnectorOutcome)
}

package enum DistributorRequest: Hashable, Sendable {
    case answer(call: UInt64, DistributorAnswer)
    /// Calls an app, which the bus may start for it.
    case call(number: UInt64, ConnectorCall)
    /// The apps whose coming is told: these and no others.
    case watch(Set<String>)
}
