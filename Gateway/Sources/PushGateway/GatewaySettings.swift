package import PushRouting
package import PushStore

/// What an operator may choose.
package struct GatewaySettings: Sendable {
    /// An address and a port to listen at.
    package struct Address: Sendable, Hashable {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// `host:port`, `[address]:port`, or a port alone.
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
    /// The socket for administration; its folder is made, and is for this user alone.
    package var socket: String
    package var providers = Address(host: "::", port: 2_197)
    package var devices = Address(host: "::", port: 5_223)
    /// Metrics and health.
    package var status = Address(host: "127.0.0.1", port: 9_464)
    /// Providers without TLS, for development: on loopback only.
    package var plainProviders: Address?
    /// PEM files of the certificate chain and its key.
    package var certificate: String
    package var privateKey: String
    /// PEM file of those who sign providers' certificates; nil where there is no certificate authentication.
    package var providerAuthority: String?
    package var environment = KeyRecord.Environment.production
    /// How devices reach the gateway: for enrolment.
    package var publicName = "localhost"
    /// What endpoints of UnifiedPush begin with, as senders reach the providers' port: without a slash at the end. Nil
    /// for the public name and that port.
    package var publicURL: String?

    package var silent = TokenBucket.Settings.standard
    /// Requests for one device token.
    package var requests = TokenBucket.Settings(capacity: 1_000, interval: 0.01)
    /// Messages to one endpoint of UnifiedPush.
    package var messages = TokenBucket.Settings(capacity: 200, interval: 0.5)
    package var conduct = ProviderConduct.Settings.standard
    /// Whether payloads are in the delivery log.
    package var isLoggingPayloads = false
    /// Entries of the delivery log.
    package var logLimit = 1_000_000
    /// Seconds between keep-alives of a device that names none.
    package var keepAlive: UInt32 = 900
    /// Seconds for which a provider may say nothing at all.
    package var providerIdle = 3_600
    /// Seconds from a request's head to its end.
    package var bodyPatience = 30
    /// Streams of a provider with a valid token.
    package var streams = 1_000
    package var providerLimit = 1_000
    package var deviceLimit = 15_000
    /// Topics of one device.
    package var tokenLimit = 500
    /// Pushes that wait for the disk, from which on further ones are refused.
    package var commitDepth = 20_000
    package var threads = 2

    package init(state: String, socket: String, certificate: String, privateKey: String) {
        self.state = state
        self.socket = socket
        self.certificate = certificate
        self.privateKey = privateKey
    }
}
