import CNightshift
import Glibc
import LocalAPI

/// How many descriptors the process may have, and who gets the last of them: see `docs/decisions/0048`.
struct DescriptorLimit: Hashable, Sendable {
    /// What the numbers of descriptors are below (RLIMIT_NOFILE).
    let count: Int

    /// What an idle service has open, what it keeps, and room for a few transfers.
    static let least = 128
    /// For libdispatch, which ends the process when it cannot look at its own threads, and for the database and the resolver.
    private static let kept = 32

    /// The connections of the local API that may be open at once.
    var connections: Int { min(ConnectionLimits().connections, (count - 2 * Self.kept) / 4) }

    /// Raises the soft limit to the hard one, and keeps the last numbers from what waits for better times where there are none.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` where the hard limit leaves nothing to work with.
    static func raise() throws(DaemonError) -> DescriptorLimit {
        // Every transfer has a socket and a file: the usual soft limit of 1024 is for programs that use select(2).
        var values = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &values) == 0 else {
            throw .configuration("The limit of open files cannot be read: \(String(cString: strerror(errno))).")
        }
        values.rlim_cur = values.rlim_max
        setrlimit(resource, &values)
        let limit = DescriptorLimit(count: Int(clamping: values.rlim_max))
        guard limit.count >= least else {
            throw .configuration(
                "The service may open at most \(limit.count) files, but needs \(least). Raise the hard limit: "
                    + "'ulimit -Hn' in a shell, LimitNOFILE= in a systemd unit.")
        }
        nightshift_keep_descriptors(Int32(clamping: limit.count - kept - limit.connections))
        return limit
    }
}
