/// Whether a running transfer brings enough to keep its place to itself.
///
/// Pure. A transfer begins with a second of credit. Time spends the credit, and body bytes earn it: so many bytes as
/// ``minimum(ownLimit:serviceLimit:transfers:)`` says earn a second, and two seconds at most are kept. A transfer without credit is
/// slow. Interim responses, header fields and bytes of the TLS handshake are not body bytes.
package struct Pace: Hashable, Sendable {
    private var credit = Self.firstCredit
    private var count: Int64
    private var time: Double
    /// Boot seconds since which it is slow; nil while it earns its place.
    package private(set) var slowSince: Double?

    /// - Parameters:
    ///   - count: body bytes that are here, or at the server, when the transfer begins.
    ///   - time: boot seconds.
    package init(count: Int64, at time: Double) {
        self.count = count
        self.time = time
    }

    package var isSlow: Bool { slowSince != nil }

    /// Whether it has all the credit that it can have.
    package var isSteady: Bool { credit >= Self.mostCredit }

    /// Takes a reading.
    ///
    /// - Parameter minimum: bytes per second.
    /// - Returns: whether the transfer has become slow, or is no longer slow.
    package mutating func read(_ newCount: Int64, at now: Double, minimum: Double) -> Bool {
        let earned = Double(max(0, newCount - count)) / max(minimum, 1)
        let spent = max(0, now - time)
        count = newCount
        time = now
        credit = min(max(credit - spent + earned, 0), Self.mostCredit)
        let wasSlow = isSlow
        slowSince = credit > 0 ? nil : slowSince ?? now
        return isSlow != wasSlow
    }

    /// Bytes per second that keep a transfer from being slow: fewer where the user's limits allow fewer.
    ///
    /// - Parameters:
    ///   - ownLimit: the transfer's rate limit in bytes per second.
    ///   - serviceLimit: the rate limit of all transfers together.
    ///   - transfers: how many of them may run.
    package static func minimum(ownLimit: Int64?, serviceLimit: Int64?, transfers: Int) -> Double {
        let own = ownLimit.map { Double($0) / 2 } ?? .infinity
        let share = serviceLimit.map { Double($0) / Double(2 * max(1, transfers)) } ?? .infinity
        return max(1, min(leastRate, own, share))
    }

    /// Bytes per second: a modem of 1985 was faster, and a file of 1 MiB would take half an hour.
    package static let leastRate: Double = 512
    /// Seconds within which most servers have answered. Less than a second, since it is read once a second.
    package static let firstCredit: Double = 0.9
    /// Seconds: a gap between two arrivals on a bad network.
    package static let mostCredit: Double = 2
}
