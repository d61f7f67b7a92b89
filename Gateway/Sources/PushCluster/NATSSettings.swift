/// The address and the replication settings of a cluster of NATS servers.
package struct NATSSettings: Sendable, Hashable {
    /// A server's URL: `nats://host:port`, or `tls://` with ``authority``. A user and a password may precede the host.
    package struct Server: Sendable, Hashable, CustomStringConvertible {
        package var url: String

        package init(url: String) {
            self.url = url
        }

        package var hasSecret: Bool { url.contains("@") }

        /// The URL without the user and the password.
        package var description: String {
            guard let at = url.lastIndex(of: "@") else { return url }
            let scheme = ["nats://", "tls://"].first { url.hasPrefix($0) } ?? ""
            return scheme + String(url[url.index(after: at)...])
        }
    }

    package var servers: [Server]
    /// The number of servers that store each message. A message is acknowledged when a majority of them has it.
    package var replicas: Int
    /// The number of streams among which devices are distributed. It is fixed when the store is created.
    package var streams: Int
    /// The path of the PEM file with the authority that signs the servers' certificates.
    package var authority: String?
    /// The path of the file with the user's JWT and seed.
    package var credentials: String?
    /// The maximum number of entries in the delivery log; nil leaves the limit of an existing log unchanged.
    package var logLimit: Int?

    package init(servers: [String], replicas: Int = 3, streams: Int = 4, logLimit: Int? = nil) {
        self.servers = servers.map { Server(url: $0) }
        self.replicas = replicas
        self.streams = streams
        self.logLimit = logLimit
    }

    /// Parses server URLs that are separated by commas; nil if one of them is invalid.
    package static func servers(_ text: String) -> [String]? {
        let servers = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return servers.allSatisfy { $0.hasPrefix("nats://") || $0.hasPrefix("tls://") } ? servers : nil
    }
}
