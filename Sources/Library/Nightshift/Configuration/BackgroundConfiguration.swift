public import Foundation
public import FoundationNetworking

/// The configuration of a background session. `URLSessionConfiguration.background(withIdentifier:)` creates one.
///
/// The session copies its configuration, so later changes do not affect the session. The defaults are the same as
/// Apple's: a request is retried after 60 s without data, a transfer may take 7 days, a host gets 6 connections, and
/// there is no cache. Properties that Apple's configurations have and FoundationNetworking's lack are in an extension
/// of `URLSessionConfiguration`.
///
/// `isDiscretionary`, `allowsCellularAccess`, `allowsExpensiveNetworkAccess`, `allowsConstrainedNetworkAccess`,
/// `requiresExternalPower` and `minimumBattery` restrict when the session's tasks may run. A task that may not run
/// waits for as long as its resource timeout allows. It never fails because of such a restriction. On a single request,
/// only `allowsCellularAccess` has an effect, because FoundationNetworking's `URLRequest` lacks the other properties.
/// Tasks that an app adds in the background are discretionary until the app comes to the foreground, as on Apple's
/// systems.
///
/// With `networkServiceType = .background`, in the configuration or in a request, transfers yield to other traffic on
/// the line. Those of apps in the background and discretionary ones do so by themselves.
///
/// `protocolClasses` and `urlCache` have no effect in a background session, as on Apple's systems.
open class BackgroundConfiguration: URLSessionConfiguration, @unchecked Sendable {
    // The conformance is unchecked, because the conformance of the base class is also unchecked. Only one thread
    // changes a configuration, and only before its session is created.

    /// The values of the properties that the base class does not store.
    var additions = ConfigurationAdditions()
    /// The detector for FoundationNetworking's initialiser of `URLSession`. That initialiser must never receive a
    /// background configuration, because its session would belong to this process and end with the process.
    private var reading = FoundationReading()

    /// A property for source compatibility. It has no effect, because Linux has no shared containers.
    open override var sharedContainerIdentifier: String? {
        get { additions.sharedContainerIdentifier }
        set { additions.sharedContainerIdentifier = newValue }
    }

    /// Creates the configuration of a background session.
    ///
    /// - Parameter identifier: The permanent name of the session, unique in the app. It must not be empty.
    public init(identifier: String) {
        if identifier.isEmpty { fatalError(SessionRefusal.identifier) }
        super.init()
        self.identifier = identifier
        urlCache = nil
        super.protocolClasses = nil
    }

    /// Returns an independent copy of the configuration.
    open override func copy() -> Any { copy(with: nil) }

    /// Returns an independent copy of the configuration.
    open override func copy(with zone: NSZone?) -> Any {
        let copy = duplicate()
        reading.copied()
        return copy
    }

    open override var httpShouldUsePipelining: Bool {
        get {
            reading.read(.pipelining)
            return additions.httpShouldUsePipelining
        }
        set { additions.httpShouldUsePipelining = newValue }
    }

    /// A property for source compatibility. It has no effect.
    open override var shouldUseExtendedBackgroundIdleMode: Bool {
        get {
            reading.read(.idleMode)
            return additions.shouldUseExtendedBackgroundIdleMode
        }
        set { additions.shouldUseExtendedBackgroundIdleMode = newValue }
    }

    open override var protocolClasses: [AnyClass]? {
        get {
            if reading.read(.protocolClasses) { fatalError(SessionRefusal.foundationsInitializer(identifier ?? "")) }
            return super.protocolClasses
        }
        set { super.protocolClasses = newValue }
    }

    private func duplicate() -> BackgroundConfiguration {
        let copy = BackgroundConfiguration(identifier: identifier ?? "")
        copy.additions = additions
        copy.requestCachePolicy = requestCachePolicy
        copy.timeoutIntervalForRequest = timeoutIntervalForRequest
        copy.timeoutIntervalForResource = timeoutIntervalForResource
        copy.networkServiceType = networkServiceType
        copy.allowsCellularAccess = allowsCellularAccess
        copy.isDiscretionary = isDiscretionary
        copy.connectionProxyDictionary = connectionProxyDictionary
        copy.httpShouldSetCookies = httpShouldSetCookies
        copy.httpCookieAcceptPolicy = httpCookieAcceptPolicy
        copy.httpAdditionalHeaders = httpAdditionalHeaders
        copy.httpMaximumConnectionsPerHost = httpMaximumConnectionsPerHost
        copy.httpCookieStorage = httpCookieStorage
        copy.urlCredentialStorage = urlCredentialStorage
        copy.urlCache = urlCache
        copy.protocolClasses = super.protocolClasses
        return copy
    }
}
