/// Where a cluster of NATS servers is, and how it keeps what it is given.
package struct NATSSettings: Sendable, Hashable {
    /// `nats://host:port`, or `tls://` with ``authority``. A user and a password may stand before the host.
    package struct Server: Sendable, Hashable, CustomStringConvertible {
        package var url: String

        package init(url: String) {
            self.url = url
        }

        package var hasSecret: Bool { url.contains("@") }

        /// Without what stands before the host.
        package var description: String {
            guard let at = url.lastIndex(of: "@") else { return url }
            let scheme = ["nats://", "tls://"].first { url.hasPrefix($0) } ?? ""
            return scheme + String(url[url.index(after: at)...])
        }
    }

    package var servers: [Server]
    /// Servers that have each message. A message is acknowledged when most of them have it.
    package var replicas: Int
    /// Streams among which devices are spread; fixed when the store is made.
    package var streams: Int
    /// Who signs the servers' certificates, in PEM.
    package var authority: String?
    /// The file with the user's JWT and seed.
    package var credentials: String?
    /// Entries of the delivery log; nil leaves a log that is there as it is.
    package var logLimit: Int?

    package init(servers: [String], replicas: Int = 3, streams: Int = 4, logLimit: Int? = nil) {
        self.servers = servers.map { Server(url: $0) }
        self.replicas = replicas
        self.streams = streams
        self.logLimit = logLimit
    }

    /// The servers of a text with commas; nil where one of them is none.
    package static func servers(_ text: String) -> [String]? {
        let servers = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return servers.allSatisfy { $0.hasPrefix("nats://") || $0.hasPrefix("tls://") } ? servers : nil
    }
}
