import CNightshift

/// The connection pools of a loop. There is one pool for each group of requests that may use each other's connections.
struct ConnectionPools {
    private var ungrouped: ConnectionPool?
    /// The groups, ordered by their last use. The last element was used most recently.
    private var groups: [(name: String, pool: ConnectionPool)] = []

    /// The maximum number of groups whose connections are kept. More groups are rare, and a lost connection costs only
    /// a handshake.
    static let maximumGroups = 16

    /// Returns the pool of a group. Nil means the group of all requests that belong to no other group.
    mutating func pool(for group: String?) -> ConnectionPool {
        guard let group else {
            let pool = ungrouped ?? ConnectionPool()
            ungrouped = pool
            return pool
        }
        let index = groups.firstIndex { $0.name == group }
        let pool = index.map { groups.remove(at: $0).pool } ?? ConnectionPool()
        if groups.count >= Self.maximumGroups { groups.removeFirst() }
        groups.append((group, pool))
        return pool
    }

    /// Removes a pool, so that new exchanges do not use it. Exchanges that use the pool keep it until they end.
    mutating func retire(_ pool: ConnectionPool) {
        if ungrouped === pool { ungrouped = nil }
        groups.removeAll { $0.pool === pool }
    }
}

/// A pool of connections, addresses and TLS sessions that are kept for reuse. Exchanges that use the pool keep it
/// alive.
final class ConnectionPool {
    let share: UnsafeMutableRawPointer?

    init() {
        share = curl_share_init()
        for kind in [CURL_LOCK_DATA_CONNECT, CURL_LOCK_DATA_DNS, CURL_LOCK_DATA_SSL_SESSION] {
            _ = nightshift_curl_share_set_long(share, CURLSHOPT_SHARE, Int(kind.rawValue))
        }
    }

    deinit {
        curl_share_cleanup(share)
    }
}
