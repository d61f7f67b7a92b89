import Location
import NightshiftAPI
import Scheduler
import Store

/// Location in a trace: the service's own book, and a receiver that sees the place of the trace.
struct SimulatedLocation {
    var book = LocationBook(bootID: "the trace")
    /// Whether something has happened since the last look.
    var isToLook = false
    /// What the book hears of apps, in the order in which it happened.
    var calls: [AppCall] = []
    /// Where the device is; nil where nothing can tell.
    var place: SetPlace?
    var receiver = Receiver()
    /// Whether changes of place are to be told as they come.
    var watchesChanges = false
    private(set) var totals = LocationTotals()
    /// Whether any app of the trace watches a region, or wants to hear of changes.
    let takesPart: Bool
    /// Whether the trace says where the device is.
    let hasPlaces: Bool
    private var lastWake: Int64 = 0

    init(_ trace: Trace) {
        takesPart = trace.lines.contains { $0.region != nil || $0.location != nil }
        hasPlaces = trace.lines.contains { $0.device?[.location] != nil }
    }

    /// The receiver of satellites: it takes its time.
    struct Receiver {
        /// Since when it is on, and at which boot seconds it has a fix or gives up.
        private(set) var request: (since: Double, until: Double)?
        private var lastOn = -Double.infinity

        /// Seconds to a fix: where the satellites are is known for two hours. Without a place it gives up after a minute.
        static let (warm, cold, remembers, patience) = (4.0, 20.0, 7_200.0, 60.0)

        mutating func turnOn(seesPlace: Bool, now: Double) {
            guard request == nil else { return }
            let seconds = !seesPlace ? Self.patience : now - lastOn < Self.remembers ? Self.warm : Self.cold
            request = (now, VirtualClock.milliseconds(now + seconds))
        }

        /// - Returns: the seconds for which it was on; nil where it was off.
        mutating func turnOff(now: Double) -> Double? {
            guard let on = request else { return nil }
            request = nil
            // A machine that sleeps has it off.
            let end = min(now, on.until)
            lastOn = end
            return end - on.since
        }
    }

    func fix(now: Double) -> Fix? { place.flatMap { Fix(place: $0.place, accuracy: $0.accuracy, time: now) } }

    /// The row of a wake, as the store makes it.
    mutating func row(_ wake: LocationWake, _ now: ClockReading) -> WantedWake {
        lastWake += 1
        return WantedWake(
            app: wake.app, reason: wake.source == .region ? .region : .significantChange, key: wake.key,
            through: lastWake, payload: try? JSON.encode(wake.event),
            expires: wake.patience.map { now.bootSeconds + $0 })
    }

    // MARK: - Sums

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
