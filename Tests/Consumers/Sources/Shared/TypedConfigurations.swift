import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Configurations whose static type is their base class, as in nearly all apps.

private func makeConfiguration() -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.background(withIdentifier: Origin.identifier("made"))
    configuration.sessionSendsLaunchEvents = true
    configuration.isDiscretionary = false
    return configuration
}

private func prepare(_ configuration: URLSessionConfiguration) {
    configuration.timeoutIntervalForResource = 60 * 60
    configuration.httpMaximumConnectionsPerHost = 2
}

private func replace(_ configuration: inout URLSessionConfiguration) {
    configuration = .background(withIdentifier: Origin.identifier("replaced"))
}

private func session(with configuration: URLSessionConfiguration, delegate: URLSessionDelegate) -> URLSession {
    prepare(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
}

private struct Environment {
    let configuration: URLSessionConfiguration
    var queue: OperationQueue?
}

private protocol Configured {
    var configuration: URLSessionConfiguration { get }
}

/// The property has no explicit type. Its type must be the one that the protocol requires.
private final class PhotoService: Configured {
    let configuration = URLSessionConfiguration.background(withIdentifier: Origin.identifier("photo-service"))
}

private final class Uploader: @unchecked Sendable {
    let listener = Listener()
    let session: URLSession

    init(configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("default-argument"))) {
        session = URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
    }
}

private class BaseClient {
    var configuration: URLSessionConfiguration { .default }
    let listener = Listener()
    lazy var session = URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
}

private final class BackgroundClient: BaseClient {
    override var configuration: URLSessionConfiguration {
        .background(withIdentifier: Origin.identifier("overridden"))
    }
}

extension URLSessionConfiguration {
    fileprivate static var photos: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: Origin.identifier("static"))
        configuration.allowsCellularAccess = true
        return configuration
    }

    fileprivate class func films(_ name: String) -> URLSessionConfiguration {
        background(withIdentifier: Origin.identifier(name))
    }

    fileprivate func with(_ change: (URLSessionConfiguration) -> Void) -> URLSessionConfiguration {
        change(self)
        return self
    }
}

private enum Kind: String {
    case foreground, background

    var configuration: URLSessionConfiguration {
        switch self {
        case .foreground: return .default
        case .background: return .background(withIdentifier: Origin.identifier(rawValue))
        }
    }
}

func typedConfigurations() async {
    await situation("a constant of the base type") {
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("constant"))
        let listener = Listener()
        try await fetches(URLSession(configuration: configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("a variable whose first value is the default configuration") {
        var configuration = URLSessionConfiguration.default
        configuration = .background(withIdentifier: Origin.identifier("was-default"))
        let listener = Listener()
        try await fetches(URLSession(configuration: configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("a variable whose first value is a background configuration") {
        var configuration = URLSessionConfiguration.background(withIdentifier: Origin.identifier("was-background"))
        configuration = .default
        let session = URLSession(configuration: configuration, delegate: Listener(), delegateQueue: nil)
        try expect(type(of: session) == URLSession.self, "a \(type(of: session)) was made")
    }
    await situation("a parameter") {
        let listener = Listener()
        try await fetches(
            session(with: .background(withIdentifier: Origin.identifier("parameter")), delegate: listener), listener)
    }
    await situation("a function's result") {
        let listener = Listener()
        try await fetches(
            URLSession(configuration: makeConfiguration(), delegate: listener, delegateQueue: .main), listener)
    }
    await situation("a property of a struct") {
        let environment = Environment(configuration: makeConfiguration())
        let listener = Listener()
        try await fetches(
            URLSession(
                configuration: environment.configuration, delegate: listener, delegateQueue: environment.queue),
            listener)
    }
    await situation("a property whose type a protocol asks for") {
        let service: Configured = PhotoService()
        let listener = Listener()
        try await fetches(
            URLSession(configuration: service.configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("an initialiser's default argument") {
        let uploader = Uploader()
        try await fetches(uploader.session, uploader.listener)
    }
    await situation("an overridden property") {
        let client: BaseClient = BackgroundClient()
        try await fetches(client.session, client.listener)
    }
    await situation("a static property in an extension") {
        let listener = Listener()
        try await fetches(URLSession(configuration: .photos, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("a class method in an extension") {
        let listener = Listener()
        try await fetches(
            URLSession(configuration: .films("films"), delegate: listener, delegateQueue: nil), listener)
    }
    await situation("a method that changes and returns the configuration") {
        let listener = Listener()
        let configuration = URLSessionConfiguration.films("chained").with { $0.sessionSendsLaunchEvents = false }
        let session = URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
        try expect(!session.configuration.sessionSendsLaunchEvents, "it sends launch events")
        try await fetches(session, listener)
    }
    await situation("a ternary operator") {
        let isBackground = Int(Origin.port) != nil
        let configuration =
            isBackground
            ? URLSessionConfiguration.background(withIdentifier: Origin.identifier("ternary"))
            : URLSessionConfiguration.default
        let listener = Listener()
        try await fetches(URLSession(configuration: configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("a ternary operator of implicit members") {
        let isForeground = Int(Origin.port) == nil
        let listener = Listener()
        try await fetches(
            URLSession(
                configuration: isForeground
                    ? .ephemeral : .background(withIdentifier: Origin.identifier("ternary-implicit")),
                delegate: listener, delegateQueue: nil), listener)
    }
    await situation("an enumeration's property") {
        let listener = Listener()
        let plain = URLSession(configuration: Kind.foreground.configuration, delegate: listener, delegateQueue: nil)
        try expect(!(plain is BackgroundURLSession), "a background session was made")
        try await fetches(
            URLSession(configuration: Kind.background.configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("a closure's result") {
        let make: () -> URLSessionConfiguration = { .background(withIdentifier: Origin.identifier("closure")) }
        let listener = Listener()
        try await fetches(URLSession(configuration: make(), delegate: listener, delegateQueue: nil), listener)
    }
    await situation("an inout parameter") {
        var configuration = URLSessionConfiguration.default
        replace(&configuration)
        let listener = Listener()
        try await fetches(URLSession(configuration: configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("an optional configuration") {
        let given: URLSessionConfiguration? = .background(withIdentifier: Origin.identifier("optional"))
        let listener = Listener()
        try await fetches(
            URLSession(configuration: given ?? .default, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("an array of configurations") {
        let configurations: [URLSessionConfiguration] = [
            .default, .background(withIdentifier: Origin.identifier("array")),
        ]
        let listener = Listener()
        let sessions = configurations.map { URLSession(configuration: $0, delegate: listener, delegateQueue: nil) }
        try expect(!(sessions[0] is BackgroundURLSession), "the first is a background session")
        try await fetches(sessions[1], listener)
    }
    await situation("a copy") {
        let original = URLSessionConfiguration.background(withIdentifier: Origin.identifier("copied"))
        original.allowsConstrainedNetworkAccess = false
        let configuration = original.copy() as! URLSessionConfiguration
        original.allowsConstrainedNetworkAccess = true
        try expect(!configuration.allowsConstrainedNetworkAccess, "the copy follows its original")
        let listener = Listener()
        try await fetches(URLSession(configuration: configuration, delegate: listener, delegateQueue: nil), listener)
    }
    await situation("a session's configuration, used for the next session") {
        let listener = Listener()
        let first = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("again")), delegate: listener,
            delegateQueue: nil)
        let configuration = first.configuration
        try expectEqual(configuration.identifier, Origin.identifier("again"))
        try await fetches(first, listener)
        let next = Listener()
        try await fetches(URLSession(configuration: configuration, delegate: next, delegateQueue: nil), next)
    }
}
