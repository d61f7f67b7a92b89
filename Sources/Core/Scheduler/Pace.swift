/// The pace of a running transfer, which decides whether the transfer is fast enough to keep its slot. This is a pure
/// value.
///
/// A transfer begins with ``firstCredit`` seconds of credit. Elapsed time uses up the credit, and body bytes earn new
/// credit: the number of bytes that ``minimum(ownLimit:serviceLimit:transfers:)`` returns earns one second. The credit
/// is at most ``mostCredit`` seconds. A transfer without credit is slow. Interim responses, header fields and bytes of
/// the TLS handshake are not body bytes.
///
/// Under a low rate limit, body bytes arrive in pieces with long gaps. A transfer may then be without credit for
/// ``gap(ownLimit:serviceLimit:running:)`` seconds before it is slow.
package struct Pace: Hashable, Sendable {
    private var credit = Self.firstCredit
    private var count: Int64
    private var time: Double
    /// The time in boot seconds since which the transfer has been slow; nil while it is fast enough.
    package private(set) var slowSince: Double?

    /// Creates the pace of a transfer that begins.
    ///
    /// - Parameters:
    ///   - count: the body bytes already received, or already at the server, when the transfer begins.
    ///   - time: the start in boot seconds.
    package init(count: Int64, at time: Double) {
        self.count = count
        self.time = time
    }

    package var isSlow: Bool { slowSince != nil }

    /// Whether the transfer has the maximum credit.
    package var isSteady: Bool { credit >= Self.mostCredit }

    /// Records the byte count at a time.
    ///
    /// - Parameters:
    ///   - minimum: the minimum rate in bytes per second.
    ///   - gap: the time in seconds for which the user's rate limits may keep the transfer without bytes.
    /// - Returns: whether the transfer has become slow, or is no longer slow.
    package mutating func read(_ newCount: Int64, at now: Double, minimum: Double, gap: Double = 0) -> Bool {
        let earned = Double(max(0, newCount - count)) / max(minimum, 1)
        let spent = max(0, now - time)
        count = newCount
        time = now
        credit = min(max(max(credit, -gap) - spent + earned, -gap), Self.mostCredit)
        let wasSlow = isSlow
        slowSince = credit > -gap ? nil : slowSince ?? now
        return isSlow != wasSlow
    }

    /// Returns the lowest rate in bytes per second at which a transfer is not slow. If the user's rate limits are
    /// lower, the result is lower, too.
    ///
    /// - Parameters:
    ///   - ownLimit: the transfer's rate limit in bytes per second.
    ///   - serviceLimit: the rate limit of all transfers together.
    ///   - transfers: the number of transfers that may run.
    package static func minimum(ownLimit: Int64?, serviceLimit: Int64?, transfers: Int) -> Double {
        let own = ownLimit.map { Double($0) / 2 } ?? .infinity
        let share = serviceLimit.map { Double($0) / Double(2 * max(1, transfers)) } ?? .infinity
        return max(1, min(leastRate, own, share))
    }

    /// Returns the longest time in seconds that a transfer waits for its turn because of the user's rate limits. The
    /// result is twice the time that one piece needs at the transfer's share, because turns are not given evenly.
    ///
    /// - Parameters:
    ///   - ownLimit: the transfer's rate limit in bytes per second.
    ///   - serviceLimit: the rate limit of all transfers together.
    ///   - running: the number of running transfers.
    package static func gap(ownLimit: Int64?, serviceLimit: Int64?, running: Int) -> Double {
        let own = ownLimit.map { pieceBytes / Double(max(1, $0)) } ?? 0
        let share = serviceLimit.map { pieceBytes * Double(max(1, running)) / Double(max(1, $0)) } ?? 0
        return 2 * max(own, share)
    }

    /// The number of bytes that a rate limit lets pass at once: libcurl delivers pieces of this size.
    package static let pieceBytes: Double = 16_384
    /// The minimum rate in bytes per second. A modem of 1985 was faster than this, and a file of 1 MiB would take half
    /// an hour.
    package static let leastRate: Double = 512
    /// The initial credit in seconds. Most servers respond within this time. The credit is less than a second because
    /// the pace is read once a second.
    package static let firstCredit: Double = 0.9
    /// The maximum credit in seconds: a usual gap between two arrivals on a bad network.
    package static let mostCredit: Double = 2
}
