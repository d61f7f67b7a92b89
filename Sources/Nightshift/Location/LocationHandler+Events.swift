import Dispatch
import NightshiftAPI
import Synchronization

/// An event that no delegate has heard yet.
struct HeldEvent: Sendable {
    var number: Int
    var event: LocationEvent
    /// Completes the wake that has brought it; nil where that is done.
    var done: Completion?

    typealias Completion = @Sendable (_ isHeard: Bool) -> Void
}

extension LocationHandler {
    /// Seconds that a wake has where the service does not say it.
    private static let usualLimit = 10.0

    /// Has the delegates hear an event: now, or when an app that was launched for it has made its manager.
    ///
    /// - Parameters:
    ///   - limit: seconds within which the wake has to be completed. An event that nobody hears in half of that
    ///     completes its wake, and is kept for whoever comes later.
    ///   - done: called once: when the delegates have returned, or when nobody is to hear of it any more.
    func deliver(_ event: LocationEvent, within limit: Double?, done: @escaping HeldEvent.Completion) {
        if let place = event.place { state.withLock { $0.book.learn(place) } }
        // Behind `didFinishLaunching`: an `Application` is launched before the main thread is served.
        DispatchQueue.main.async { [self] in
            if tell(event) { return done(true) }
            let (number, superseded) = hold(event, done)
            superseded?(false)
            let patience = (limit ?? Self.usualLimit) / 2
            DispatchQueue.global().asyncAfter(deadline: .now() + patience) { [self] in giveUp(number) }
        }
    }

    /// On the main queue.
    ///
    /// - Returns: whether there was anybody to hear it.
    private func tell(_ event: LocationEvent) -> Bool {
        let listeners = managers.filter { $0.hears(event) }
        for manager in listeners { manager.hear(event) }
        return !listeners.isEmpty
    }

    /// What was held of the same region, or of the place, is out of date.
    ///
    /// - Returns: what completes the wake of that.
    private func hold(
        _ event: LocationEvent, _ done: @escaping HeldEvent.Completion
    ) -> (number: Int, superseded: HeldEvent.Completion?) {
        state.withLock { state in
            state.lastHeld += 1
            let old = state.held.firstIndex { $0.event.region?.identifier == event.region?.identifier }
            let superseded = old.map { state.held.remove(at: $0) }?.done
            state.held.append(HeldEvent(number: state.lastHeld, event: event, done: done))
            // As many as there are regions at once, and a change: of others nobody will hear.
            if state.held.count > Limits.regions + 1, let oldest = state.held.firstIndex(where: { $0.done == nil }) {
                state.held.remove(at: oldest)
            }
            return (state.lastHeld, superseded)
        }
    }

    /// What was held is told to whoever hears it now.
    func tellHeld() {
        DispatchQueue.main.async { [self] in
            for held in state.withLock(\.held) where managers.contains(where: { $0.hears(held.event) }) {
                // Nobody gives it up while delegates are at it.
                let taken = state.withLock { state -> HeldEvent? in
                    guard let index = state.held.firstIndex(where: { $0.number == held.number }) else { return nil }
                    return state.held.remove(at: index)
                }
                guard let taken else { continue }
                _ = tell(taken.event)
                taken.done?(true)
            }
        }
    }

    /// Nobody has come for it: the wake is completed, so that the app is not ended for it.
    private func giveUp(_ number: Int) {
        let (held, isFirst) = state.withLock { state -> (HeldEvent?, Bool) in
            guard let index = state.held.firstIndex(where: { $0.number == number && $0.done != nil }) else {
                return (nil, false)
            }
            defer {
                state.held[index].done = nil
                state.hasAdvisedDelegate = true
            }
            return (state.held[index], !state.hasAdvisedDelegate)
        }
        guard let held else { return }
        if isFirst { Notice.print(held.event.advice) }
        held.done?(false)
    }

    /// The delegate has no method for the event that the library could call. Says so once.
    func adviseMethods(of delegate: any CLLocationManagerDelegate, for subject: String, method: String) {
        let isFirst = state.withLock { state in
            defer { state.hasAdvisedMethods = true }
            return !state.hasAdvisedMethods
        }
        guard isFirst else { return }
        Notice.print(
            "\(type(of: delegate)) has no method that hears of \(subject). It has to be \(method), "
                + "in the class that conforms to CLLocationManagerDelegate itself.")
    }
}

extension LocationEvent {
    var subject: String {
        switch kind {
        case .entered: "the entry into the region '\(region?.identifier ?? "")'"
        case .left: "the exit from the region '\(region?.identifier ?? "")'"
        case .changed: "a significant change of the location"
        }
    }

    var method: String {
        switch kind {
        case .entered: "locationManager(_:didEnterRegion:)"
        case .left: "locationManager(_:didExitRegion:)"
        case .changed: "locationManager(_:didUpdateLocations:)"
        }
    }

    /// Which line is missing in an app where nobody hears of it.
    fileprivate var advice: String {
        let lines =
            "let manager = CLLocationManager(); manager.delegate = self"
            + (kind == .changed ? "; manager.startMonitoringSignificantLocationChanges()" : "")
        return "The app was woken for \(subject), and no CLLocationManager has a delegate that is to hear of it. "
            + "Make one at every launch, and keep it: \(lines)"
    }
}
