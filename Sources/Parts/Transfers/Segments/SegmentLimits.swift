import NightshiftAPI
import Store

/// The limits of a split download.
package struct SegmentLimits: Hashable, Sendable {
    /// The number of connections to one host: the session's limit minus the connections that other transfers use.
    package var connectionsPerHost: Int
    /// The fixed number of connections from `--connections N`, which is used without measuring.
    package var forced: Int?
    /// Whether the task is discretionary. Such a task uses at most one connection per source.
    package var isDiscretionary: Bool

    package init(connectionsPerHost: Int, forced: Int? = nil, isDiscretionary: Bool = false) {
        self.connectionsPerHost = connectionsPerHost
        self.forced = forced
        self.isDiscretionary = isDiscretionary
    }
}

extension SegmentLimits {
    /// Creates the limits of a task.
    ///
    /// - Parameters:
    ///   - used: the connections that other transfers of the same per-origin queue use or are about to open.
    ///   - host: the limit that the host has shown; nil if it has shown none.
    init(_ record: TaskRecord, used: Int, host: Int?) {
        let request = record.request
        let most = min(max(request.connections ?? 1, record.maximumConnections - used), host ?? .max)
        self.init(
            // A rate-limited download needs only one connection.
            connectionsPerHost: request.rateLimit == nil ? most : 1, forced: request.connections,
            isDiscretionary: record.rules.discretion != .none)
    }

    /// The number of connections to one source.
    var perSource: Int { isDiscretionary ? 1 : max(1, connectionsPerHost) }

    /// Returns the number of connections to all sources together.
    package func inAll(sources: Int) -> Int {
        if isDiscretionary { return 1 }
        return max(1, min(perSource * max(1, sources), forced ?? .max, Limits.connectionsPerTask))
    }
}
