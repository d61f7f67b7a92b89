import Foundation
import FoundationNetworking
import NightshiftAPI

extension BackgroundConfiguration {
    /// The fields that every request has, by their names.
    var additionalFields: [HeaderField] {
        (httpAdditionalHeaders ?? [:]).map { HeaderField(name: "\($0.key.base)", value: "\($0.value)") }
            .sorted { $0.name < $1.name }
    }
}

extension SessionSettings {
    /// What the service has to know of a configuration.
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
        allowsCellularAccess = configuration.allowsCellularAccess
        allowsExpensiveNetworkAccess = configuration.allowsExpensiveNetworkAccess
        allowsConstrainedNetworkAccess = configuration.allowsConstrainedNetworkAccess
        requiresExternalPower = configuration.requiresExternalPower
        minimumBattery = configuration.minimumBattery.limited(to: 0...100, or: 0)
    }

    private static func seconds(_ interval: Double) -> Double {
        interval > 0 ? min(interval, Limits.longestTimeout) : Limits.longestTimeout
    }

    /// The service speaks TLS 1.2 and 1.3: what bounds neither needs no word. Of bounds that exclude each other the lower one holds.
    private static func versions(_ configuration: BackgroundConfiguration) -> TLSSettings? {
        if configuration.tlsMinimumSupportedProtocolVersion == .TLSv13 { return TLSSettings(minimumVersion: .tls13) }
        switch configuration.tlsMaximumSupportedProtocolVersion {
        case .TLSv10, .TLSv11, .TLSv12: return TLSSettings(maximumVersion: .tls12)
        default: return nil
        }
    }

    /// The HTTPS proxy before the HTTP one: the service has one for both.
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
