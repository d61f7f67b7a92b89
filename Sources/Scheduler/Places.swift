/// The places of the service: how many transfers may run at once, and who may take the next one.
///
/// Pure. Three rules keep a few origins from holding all places while others wait:
///
/// - Slow transfers (``Pace``) lend their places to other origins: the service runs one transfer more for each slow one, up to
///   ``lent(of:)``. An origin with a slow transfer gets none of these places.
/// - An eighth of the places is kept for origins at which nothing runs.
/// - Of equal priority, a task whose origin has nothing running goes first (``Admission``).
///
/// Who allows fewer than eight transfers gets no more than that: nothing is lent or kept.
package struct Places: Hashable, Sendable {
    package let maximum: Int
    package private(set) var running = 0
    package private(set) var slow = 0
    private var busyOrigins: Set<String> = []
    private var slowOrigins: Set<String> = []

    package init(maximum: Int) {
        self.maximum = maximum
    }

    init(_ lanes: [Admission.Lane], maximum: Int) {
        self.init(maximum: maximum)
        for lane in lanes {
            for running in lane.running { add(origin: lane.origin, isSlow: running.slowness != nil) }
        }
    }

    /// Counts a transfer that runs.
    package mutating func add(origin: String?, isSlow: Bool = false) {
        running += 1
        slow += isSlow ? 1 : 0
        guard let origin else { return }
        busyOrigins.insert(origin)
        if isSlow { slowOrigins.insert(origin) }
    }

    /// The number of transfers that may still start in a lane as far as the service is concerned; 0 or less where none may.
    package func left(for lane: Admission.Lane) -> Int {
        let kept = isIdle(lane) ? 0 : Self.kept(of: maximum)
        let lent = hasSlow(lane) ? 0 : min(slow, Self.lent(of: maximum))
        return maximum + lent - kept - running
    }

    /// Whether nothing runs at the lane's origin.
    func isIdle(_ lane: Admission.Lane) -> Bool {
        lane.running.isEmpty && !(lane.origin.map(busyOrigins.contains) ?? false)
    }

    func hasSlow(_ lane: Admission.Lane) -> Bool {
        lane.running.contains { $0.slowness != nil } || lane.origin.map(slowOrigins.contains) ?? false
    }

    /// Slow transfers that lend no place: one of them has to stop before another origin's transfer can start.
    var slowWithoutPlace: Int { max(0, slow - Self.lent(of: maximum)) }

    var isAllSlow: Bool { running == slow }

    /// Transfers that may run above the maximum, one for each slow one: enough for a hundred origins that do not answer.
    package static func lent(of maximum: Int) -> Int { maximum < 8 ? 0 : min(3 * maximum, 96) }

    /// Places that are kept for origins at which nothing runs.
    package static func kept(of maximum: Int) -> Int { maximum / 8 }
}
