import Location
import NightshiftAPI
import Scheduler
import Store

/// Simulated location: the service's own state, and a receiver that reads the location from the trace.
struct SimulatedLocation {
    var book = LocationState(bootID: "the trace")
    /// Whether an event has happened since the last decision.
    var isToLook = false
    /// The events about apps that the location state has not received yet, in order.
    var calls: [AppCall] = []
    /// The location of the device; nil if no source can determine it.
    var place: LocationOverride?
    var receiver = Receiver()
    /// Whether the network reports location changes as they happen.
    var watchesChanges = false
    private(set) var totals = LocationTotals()
    /// Whether any app of the trace monitors a region or significant changes.
    let takesPart: Bool
    /// Whether the trace contains locations.
    let hasPlaces: Bool
    private var lastWake: Int64 = 0

    init(_ trace: Trace) {
        takesPart = trace.lines.contains { $0.region != nil || $0.location != nil }
        hasPlaces = trace.lines.contains { $0.device?[.location] != nil }
    }

    /// The satellite receiver, which needs some time for a fix.
    struct Receiver {
        /// The time since which the receiver is on, and the boot time at which it has a fix or gives up. Nil while it
        /// is off.
        private(set) var request: (since: Double, until: Double)?
        private var lastOn = -Double.infinity

        /// The numbers of seconds until a fix with and without recent satellite data, the time for which this data is
        /// valid (two hours), and the time after which the receiver gives up without a location (a minute).
        static let (warm, cold, remembers, timeout) = (4.0, 20.0, 7_200.0, 60.0)

        mutating func turnOn(seesPlace: Bool, now: Double) {
            guard request == nil else { return }
            let seconds = !seesPlace ? Self.timeout : now - lastOn < Self.remembers ? Self.warm : Self.cold
            request = (now, VirtualClock.milliseconds(now + seconds))
        }

        /// - Returns: the number of seconds for which the receiver was on; nil if it was off.
        mutating func turnOff(now: Double) -> Double? {
            guard let on = request else { return nil }
            request = nil
            // While the machine sleeps, the receiver is off.
            let end = min(now, on.until)
            lastOn = end
            return end - on.since
        }
    }

    func fix(now: Double) -> Fix? { place.flatMap { Fix(place: $0.place, accuracy: $0.accuracy, time: now) } }

    /// Returns the row of a wake, in the form in which the store keeps it.
    mutating func row(_ wake: LocationWake, _ now: ClockReading) -> WantedWake {
        lastWake += 1
        return WantedWake(
            app: wake.app, reason: wake.source == .region ? .region : .significantChange, key: wake.key,
            through: lastWake, payload: try? JSON.encode(wake.event),
            expires: wake.timeout.map { now.bootSeconds + $0 })
    }

    // MARK: - Totals

    mutating func count(_ wake: LocationWake) {
        switch wake.event.kind {
        case .entered: totals.entered += 1
        case .left: totals.left += 1
        case .changed: totals.changes += 1
        }
    }

    mutating func countWake() { totals.wakes += 1 }

    mutating func countReceiver(_ seconds: Double) {
        totals.fixes += 1
        totals.receiverSeconds += seconds
    }

    var rounded: LocationTotals {
        var totals = totals
        totals.receiverSeconds = VirtualClock.milliseconds(totals.receiverSeconds)
        return totals
    }
}
