/// A version of the UnifiedPush interfaces, as an app uses it.
package enum DistributorVersion: Int, Hashable, Sendable, Codable {
    case one = 1
    case two
}

/// A request of an app to be registered, from its `Register` call.
package struct DistributorRegistration: Hashable, Sendable {
    /// The name of the app on the bus.
    package var service: String
    /// The name that the app has given to the registration. Any client that knows it can end the registration.
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

/// An answer to an app's call.
package enum DistributorAnswer: Hashable, Sendable {
    case registered
    /// The registration failed, for a reason and with a sentence. Only version 1 transmits the sentence.
    case failed(Failure, String)
    case unregistered

    /// The reasons for a failure, as version 2 defines them.
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
    /// The app is missing or not ready. The text is a clause that says why, such as "there was no answer".
    case absent(String)
    /// The app has answered with an error. The text is a clause that names the error.
    case refused(String)
}

/// An event on the session bus about UnifiedPush.
package enum DistributorEvent: Hashable, Sendable {
    /// The service has connected to a bus. Requests to an earlier bus are lost.
    case connected
    case disconnected
    /// A change of the owner of the distributor's name. Another service of the same user may own the name.
    case named(isOurs: Bool)
    /// A registration by an app. It must be answered with ``DistributorRequest/answer(call:_:)``.
    case register(call: UInt64, DistributorRegistration)
    case unregister(call: UInt64, token: String)
    /// A watched app has connected to the bus.
    case appeared(service: String)
    /// The result of a call to an app. Each call has one result, unless its bus was lost.
    case called(number: UInt64, ConnectorOutcome)
}

package enum DistributorRequest: Hashable, Sendable {
    case answer(call: UInt64, DistributorAnswer)
    /// Calls an app. The bus starts the app if necessary.
    case call(number: UInt64, ConnectorCall)
    /// Sets the bus names whose appearance is reported.
    case watch(Set<String>)
}
