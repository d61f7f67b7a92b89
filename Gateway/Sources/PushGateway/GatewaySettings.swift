package import PushRouting
package import PushStore

/// The settings of a gateway that an operator can choose.
package struct GatewaySettings: Sendable {
    /// An address and a port on which the gateway listens.
    package struct Address: Sendable, Hashable {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// Parses `host:port`, `[address]:port`, or a port alone.
        package init?(_ text: String, defaultHost: String = "::") {
            guard let colon = text.lastIndex(of: ":") else {
                guard let port = Int(text), (0...65_535).contains(port) else { return nil }
                self.init(host: defaultHost, port: port)
                return
            }
            guard let port = Int(text[text.index(after: colon)...]), (0...65_535).contains(port) else { return nil }
            var host = String(text[..<colon])
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            guard !host.isEmpty else { return nil }
            self.init(host: host, port: port)
        }

        package var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
    }

    /// The folder of the database.
    package var state: String
    /// The path of the socket for administration. Only the gateway's user has access to the folder of the socket.
    package var socket: String
    package var providers = Address(host: "::", port: 2_197)
    package var devices = Address(host: "::", port: 5_223)
    /// The address for metrics and health checks.
    package var status = Address(host: "127.0.0.1", port: 9_464)
    /// The address for providers without TLS, for development. It must be a loopback address.
    package var plainProviders: Address?
    /// The path of the PEM file with the certificate chain. `key` is the path of the file with the private key.
    package var certificate: String
    package var privateKey: String
    /// The path of the PEM file with the authorities that sign providers' certificates; nil without certificate
    /// authentication.
    package var providerAuthority: String?
    package var environment = KeyRecord.Environment.production
    /// The host name under which devices reach the gateway, for enrolment URLs.
    package var publicName = "localhost"
    /// The base URL under which senders reach the providers' port, without a slash at the end. If it is nil, the URL
    /// consists of the public name and that port.
    package var publicURL: String?

    package var silent = TokenBucket.Settings.standard
    /// The rate limit on requests for one device token.
    package var requests = TokenBucket.Settings(capacity: 1_000, interval: 0.01)
    /// The rate limit on messages to one UnifiedPush endpoint.
    package var messages = TokenBucket.Settings(capacity: 200, interval: 0.5)
    package var conduct = ProviderConduct.Settings.standard
    /// Whether the delivery log contains payloads.
    package var isLoggingPayloads = false
    /// The maximum number of entries in the delivery log.
    package var logLimit = 1_000_000
    /// The time between keep-alives, in seconds, for a device that requests no interval.
    package var keepAlive: UInt32 = 900
    /// The time after which an idle provider connection is closed, in seconds.
    package var providerIdle = 3_600
    /// The time limit for the rest of a request after its head, in seconds.
    package var bodyTimeout = 30
    /// The maximum number of concurrent streams for a provider with a valid token.
    package var streams = 1_000
    package var providerLimit = 1_000
    package var deviceLimit = 15_000
    /// The maximum number of topics of one device.
    package var tokenLimit = 500
    /// The number of pushes waiting for the disk at which further pushes are refused.
    package var commitDepth = 20_000
    package var threads = 2

    package init(state: String, socket: String, certificate: String, privateKey: String) {
        self.state = state
        self.socket = socket
        self.certificate = certificate
        self.privateKey = privateKey
    }
}
