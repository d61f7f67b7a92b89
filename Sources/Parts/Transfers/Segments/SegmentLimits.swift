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
    /// The number of connections that raised the rate of an earlier download from the origin; nil if unknown.
    package var useful: Int?

    package init(
        connectionsPerHost: Int, forced: Int? = nil, isDiscretionary: Bool = false, useful: Int? = nil
    ) {
        self.connectionsPerHost = connectionsPerHost
        self.forced = forced
        self.isDiscretionary = isDiscretionary
        self.useful = useful
    }
}

extension SegmentLimits {
    /// Creates the limits of a task.
    ///
    /// - Parameters:
    ///   - used: the connections that other transfers of the same per-origin queue use or are about to open.
    ///   - host: the limit that the host has shown; nil if it has shown none.
    ///   - useful: the number of connections that was useful for an earlier download from the origin; nil if unknown.
    init(_ record: TaskRecord, used: Int, host: Int?, useful: Int?) {
        let request = record.request
        // An app sets the limit of its session. Downloads of the command line may use more, if each raises the rate.
        let session =
            record.session == .terminal
            ? max(record.maximumConnections, Limits.connectionsOfOneDownload) : record.maximumConnections
        let most = min(max(request.connections ?? 1, session - used), host ?? .max)
        self.init(
            // A rate-limited download needs only one connection.
            connectionsPerHost: request.rateLimit == nil ? most : 1, forced: request.connections,
            isDiscretionary: record.rules.discretion != .none, useful: useful)
    }

    /// The number of connections to one source.
    var perSource: Int { isDiscretionary ? 1 : max(1, connectionsPerHost) }

    /// Returns the number of connections to all sources together.
    package func inAll(sources: Int) -> Int {
        if isDiscretionary { return 1 }
        return max(1, min(perSource * max(1, sources), forced ?? .max, Limits.connectionsPerTask))
    }
}
