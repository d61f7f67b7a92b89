public import Foundation
public import FoundationNetworking

/// What a background session does with its transfers; what `URLSessionConfiguration.background(withIdentifier:)` makes.
///
/// The session takes a copy: what is changed later does not reach it. Defaults are Apple's: 60 s without data until an
/// exchange is tried again, 7 days for a transfer as a whole, 6 connections to a host, no cache. What Apple's configurations have
/// beyond FoundationNetworking's is in an extension of `URLSessionConfiguration`.
///
/// `isDiscretionary`, `allowsCellularAccess`, `allowsExpensiveNetworkAccess`, `allowsConstrainedNetworkAccess`,
/// `requiresExternalPower` and `minimumBattery` say what the session's tasks wait for. A task that may not run waits, however
/// long its resource timeout lets it; it never fails for that. Of a single request only `allowsCellularAccess` is heeded:
/// FoundationNetworking's `URLRequest` has none of the others. Tasks that an app adds while it is in the background are
/// discretionary until it comes to the front, as on Apple's systems.
///
/// `protocolClasses` and `urlCache` have no effect in a background session on Apple's systems either.
open class BackgroundConfiguration: URLSessionConfiguration, @unchecked Sendable {
    // Unchecked as the base class is: like it, a configuration is changed by one thread before its session is made.

    /// What the base class has no room for.
    var additions = ConfigurationAdditions()
    /// Tells FoundationNetworking's initialiser of `URLSession`, which must never see a background configuration: the session would be
    /// one of this process and end with it.
    private var reading = FoundationReading()

    /// Kept for source compatibility; there are no containers here.
    open override var sharedContainerIdentifier: String? {
        get { additions.sharedContainerIdentifier }
        set { additions.sharedContainerIdentifier = newValue }
    }

    /// - Parameter identifier: unique in the app; names the session for ever. Must not be empty.
    public init(identifier: String) {
        if identifier.isEmpty { fatalError(Refusal.identifier) }
        super.init()
        self.identifier = identifier
        urlCache = nil
        super.protocolClasses = nil
    }

    /// An independent copy.
    open override func copy() -> Any { copy(with: nil) }

    /// An independent copy.
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

    /// Kept for source compatibility, without effect.
    open override var shouldUseExtendedBackgroundIdleMode: Bool {
        get {
            reading.read(.idleMode)
            return additions.shouldUseExtendedBackgroundIdleMode
        }
        set { additions.shouldUseExtendedBackgroundIdleMode = newValue }
    }

    open override var protocolClasses: [AnyClass]? {
        get {
            if reading.read(.protocolClasses) { fatalError(Refusal.foundationsInitializer(identifier ?? "")) }
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
