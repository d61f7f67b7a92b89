public import Foundation
public import FoundationNetworking

/// What a background session does with its transfers; made with `URLSessionConfiguration.background(withIdentifier:)`.
///
/// The session takes a copy: what is changed later does not reach it. Defaults are Apple's: 60 s without data until an
/// exchange is tried again, 7 days for a transfer as a whole, 6 connections to a host, no cache.
///
/// Without effect for now: ``URLSessionConfiguration/isDiscretionary``, ``allowsExpensiveNetworkAccess``,
/// ``allowsConstrainedNetworkAccess``, `allowsCellularAccess`, ``sharedContainerIdentifier``. `protocolClasses` and `urlCache` have
/// none in a background session on Apple's systems either.
open class BackgroundConfiguration: URLSessionConfiguration, @unchecked Sendable {
    // Unchecked as the base class is: like it, a configuration is changed by one thread before its session is made.

    /// Whether the app is resumed or launched when the session's transfers have ended, or one needs an answer.
    open var sessionSendsLaunchEvents = true
    /// Kept for source compatibility: a background session always waits.
    var storedWaitsForConnectivity = false
    open var allowsExpensiveNetworkAccess = true
    open var allowsConstrainedNetworkAccess = true
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
