import CNightshift
import Glibc
import LocalAPI

/// The number of descriptors that the process may open. The last descriptors are reserved: see `docs/decisions/0048`.
struct DescriptorLimit: Hashable, Sendable {
    /// The limit of descriptor numbers (RLIMIT_NOFILE).
    let count: Int

    /// The minimum number of descriptors: those of an idle service, the reserved ones, and some for a few transfers.
    static let least = 128
    /// The number of descriptors that are reserved for the database, the resolver and libdispatch. If libdispatch
    /// cannot examine its own threads, it ends the process.
    private static let kept = 32

    /// The maximum number of open connections to the local API.
    var connections: Int { min(ConnectionLimits().connections, (count - 2 * Self.kept) / 4) }

    /// Raises the soft limit to the hard limit, and reserves the last descriptors. Work that can wait does not get the
    /// reserved descriptors.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` if the hard limit is too low.
    static func raise() throws(DaemonError) -> DescriptorLimit {
        // Every transfer needs a socket and a file. The usual soft limit of 1024 exists only for programs that use
        // select(2).
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
