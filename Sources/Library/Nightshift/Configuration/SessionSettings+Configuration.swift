import Foundation
import FoundationNetworking
import NightshiftAPI

extension BackgroundConfiguration {
    /// The header fields that are added to every request, sorted by name.
    var additionalFields: [HeaderField] {
        (httpAdditionalHeaders ?? [:]).map { HeaderField(name: "\($0.key.base)", value: "\($0.value)") }
            .sorted { $0.name < $1.name }
    }
}

extension SessionSettings {
    /// Creates the settings for the service from a session's configuration.
    init(_ configuration: BackgroundConfiguration) {
        self.init()
        headers = configuration.additionalFields
        if headers.first("User-Agent") == nil {
            headers.append(HeaderField(name: "User-Agent", value: UserAgent.own))
        }
        httpMaximumConnectionsPerHost = max(1, configuration.httpMaximumConnectionsPerHost)
        idleTimeout = Self.seconds(configuration.timeoutIntervalForRequest)
        resourceTimeout = Self.seconds(configuration.timeoutIntervalForResource)
        sessionSendsLaunchEvents = configuration.sessionSendsLaunchEvents
        proxy = Self.proxy(configuration.connectionProxyDictionary)
        tls = Self.versions(configuration)
        isDiscretionary = configuration.isDiscretionary
        if configuration.networkServiceType == .background { yields = true }
        allowsCellularAccess = configuration.allowsCellularAccess
        allowsExpensiveNetworkAccess = configuration.allowsExpensiveNetworkAccess
        allowsConstrainedNetworkAccess = configuration.allowsConstrainedNetworkAccess
        requiresExternalPower = configuration.requiresExternalPower
        minimumBattery = configuration.minimumBattery.limited(to: 0...100, or: 0)
    }

    private static func seconds(_ interval: Double) -> Double {
        interval > 0 ? min(interval, Limits.longestTimeout) : Limits.longestTimeout
    }

    /// Returns the versions of TLS that the session may use. Returns nil if the bounds exclude neither TLS 1.2 nor TLS
    /// 1.3, the versions that the service supports. If the minimum is above the maximum, the minimum wins.
    private static func versions(_ configuration: BackgroundConfiguration) -> TLSSettings? {
        if configuration.tlsMinimumSupportedProtocolVersion == .TLSv13 { return TLSSettings(minimumVersion: .tls13) }
        switch configuration.tlsMaximumSupportedProtocolVersion {
        case .TLSv10, .TLSv11, .TLSv12: return TLSSettings(maximumVersion: .tls12)
        default: return nil
        }
    }

    /// Returns the URL of the HTTPS proxy. If no HTTPS proxy is set or enabled, returns the URL of the HTTP proxy. The
    /// service uses one proxy for both schemes.
    ///
    /// The keys are the values of CFNetwork's `kCFNetworkProxies…` and `kCFStreamPropertyHTTP…` constants.
    private static func proxy(_ dictionary: [AnyHashable: Any]?) -> String? {
        guard let dictionary else { return nil }
        for kind in ["HTTPS", "HTTP"] {
            if let isEnabled = dictionary["\(kind)Enable"], "\(isEnabled)" == "0" || "\(isEnabled)" == "false" {
                continue
            }
            guard let host = dictionary["\(kind)Proxy"] as? String, !host.isEmpty else { continue }
            return dictionary["\(kind)Port"].map { "http://\(host):\($0)" } ?? "http://\(host)"
        }
        return nil
    }
}
