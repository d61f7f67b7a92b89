import NightshiftAPI

/// What a download in segments may use.
package struct SegmentLimits: Hashable, Sendable {
    /// Connections to one host: what the session allows, less what others use.
    package var connectionsPerHost: Int
    /// `--connections N`: so many at once, not measured.
    package var forced: Int?
    /// A task that waits for a good moment uses one connection of it at most.
    package var isDiscretionary: Bool

    package init(connectionsPerHost: Int, forced: Int? = nil, isDiscretionary: Bool = false) {
        self.connectionsPerHost = connectionsPerHost
        self.forced = forced
        self.isDiscretionary = isDiscretionary
    }
}

extension SegmentLimits {
    /// Connections to one source.
    var perSource: Int { isDiscretionary ? 1 : max(1, connectionsPerHost) }

    /// Connections in all.
    package func inAll(sources: Int) -> Int {
        if isDiscretionary { return 1 }
        return max(1, min(perSource * max(1, sources), forced ?? .max, Limits.connectionsPerTask))
    }
}
