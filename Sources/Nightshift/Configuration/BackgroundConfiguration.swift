public import Foundation
public import FoundationNetworking

/// What a background session does with its transfers; made with `URLSessionConfiguration.background(withIdentifier:)`.
///
/// The session takes a copy: what is changed later does not reach it. Defaults are Apple's: 60 s without data until an
/// exchange is tried again, 7 days for a transfer as a whole, 6 connections to a host, no cache.
///
/// `isDiscretionary`, `allowsCellularAccess`, ``allowsExpensiveNetworkAccess``, ``allowsConstrainedNetworkAccess``,
/// ``requiresExternalPower`` and ``minimumBattery`` say what the session's tasks wait for. A task that may not run waits, however
/// long its resource timeout lets it; it never fails for that. Of a single request only `allowsCellularAccess` is heeded:
/// FoundationNetworking's `URLRequest` has none of the others. Tasks that an app adds while it is in the background are
/// discretionary until it comes to the front, as on Apple's systems.
///
/// Without effect: ``sharedContainerIdentifier``. `protocolClasses` and `urlCache` have none in a background session on Apple's
/// systems either.
open class BackgroundConfiguration: URLSessionConfiguration, @unchecked Sendable {
    // Unchecked as the base class is: like it, a configuration is changed by one thread before its session is made.

    /// Whether the app is resumed or launched when the session's transfers have ended, or one needs an answer.
    open var sessionSendsLaunchEvents = true
    /// Kept for source compatibility: a background session always waits.
    var storedWaitsForConnectivity = false
    /// Whether its tasks may use networks that cost by the byte: mobile ones, and those that are marked as metered.
    open var allowsExpensiveNetworkAccess = true
    /// Whether its tasks may use networks that are to carry as little as possible (Apple: Low Data Mode).
    open var allowsConstrainedNetworkAccess = true
    /// Whether its tasks run on external power only. Not Apple's.
    open var requiresExternalPower = false
    /// Percent of the battery's charge below which its tasks wait while there is no external power; 0 is no limit. Not Apple's.
    open var minimumBattery: Double = 0
    private var container: String?

    /// Kept for source compatibility; there are no containers here.
    open override var sharedContainerIdentifier: String? {
        get { container }
        set { container = newValue }
    }

    /// - Parameter identifier: unique in the app; names the session for ever. Must not be empty.
    public init(identifier: String) {
        if identifier.isEmpty { fatalError(Refusal.identifier) }
        super.init()
        self.identifier = identifier
        urlCache = nil
        protocolClasses = nil
    }

    /// An independent copy.
    open override func copy() -> Any { duplicate() }

    /// An independent copy.
    open override func copy(with zone: NSZone?) -> Any { duplicate() }

    /// Nothing but `URLSession`'s own initialiser reads this, which must never see a background configuration: the session
    /// would be one of this process and end with it.
    open override var shouldUseExtendedBackgroundIdleMode: Bool {
        get {
            fatalError(
                """
                A background configuration was handed to URLSession as a plain URLSessionConfiguration, so that its transfers \
                would end with this process. Write 'let configuration = URLSessionConfiguration.background(withIdentifier: \
                "\(identifier ?? "")")' without ': URLSessionConfiguration', or make the session with \
                BackgroundURLSession(configuration:delegate:delegateQueue:).
                """)
        }
        set {}
    }

    private func duplicate() -> BackgroundConfiguration {
        let copy = BackgroundConfiguration(identifier: identifier ?? "")
        copy.sessionSendsLaunchEvents = sessionSendsLaunchEvents
        copy.storedWaitsForConnectivity = storedWaitsForConnectivity
        copy.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess
        copy.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess
        copy.requiresExternalPower = requiresExternalPower
        copy.minimumBattery = minimumBattery
        copy.container = container
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
        copy.protocolClasses = protocolClasses
        return copy
    }
}
