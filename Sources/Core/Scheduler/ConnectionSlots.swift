/// The connection slots of the service: the number of transfers that may run at the same time, and the rules for the
/// next transfer. This is a pure value.
///
/// Three rules keep a few origins from using all slots while other origins wait:
///
/// - Slow transfers (``Pace``) lend their slots to other origins: the service runs one more transfer for each slow one,
///   up to ``lent(of:)``. An origin with a slow transfer gets none of these slots.
/// - An eighth of the slots is reserved for origins without a running transfer.
/// - At equal priority, a task whose origin has no running transfer goes first (``Admission``).
///
/// If the limit is less than eight transfers, the service lends or reserves no slots.
package struct ConnectionSlots: Hashable, Sendable {
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

    /// Counts a running transfer, which uses a slot.
    package mutating func add(origin: String?, isSlow: Bool = false) {
        running += 1
        slow += isSlow ? 1 : 0
        guard let origin else { return }
        busyOrigins.insert(origin)
        if isSlow { slowOrigins.insert(origin) }
    }

    /// Returns the number of transfers that a per-origin queue may still start, according to the slots of the service.
    /// The result is 0 or less if the queue may start none.
    package func left(for lane: Admission.Lane) -> Int {
        let kept = isIdle(lane) ? 0 : Self.kept(of: maximum)
        let lent = hasSlow(lane) ? 0 : min(slow, Self.lent(of: maximum))
        return maximum + lent - kept - running
    }

    /// Returns whether the origin of the per-origin queue has no running transfer.
    func isIdle(_ lane: Admission.Lane) -> Bool {
        lane.running.isEmpty && !(lane.origin.map(busyOrigins.contains) ?? false)
    }

    func hasSlow(_ lane: Admission.Lane) -> Bool {
        lane.running.contains { $0.slowness != nil } || lane.origin.map(slowOrigins.contains) ?? false
    }

    /// The number of slow transfers beyond the lent slots. One of these transfers has to stop before a transfer of
    /// another origin can start.
    var slowWithoutPlace: Int { max(0, slow - Self.lent(of: maximum)) }

    var isAllSlow: Bool { running == slow }

    /// Returns the number of transfers that may run above the maximum, one for each slow transfer. This is enough for a
    /// hundred origins that do not respond.
    package static func lent(of maximum: Int) -> Int { maximum < 8 ? 0 : min(3 * maximum, 96) }

    /// Returns the number of slots that are reserved for origins without a running transfer.
    package static func kept(of maximum: Int) -> Int { maximum / 8 }
}
