import Dispatch
import Executors
import NightshiftAPI
import Synchronization

/// An event that no delegate has received yet.
struct HeldEvent: Sendable {
    var number: Int
    var event: LocationEvent
    /// A closure that completes the wake for the event. The value is nil if the wake is complete.
    var done: Completion?

    typealias Completion = @Sendable (_ isHeard: Bool) -> Void
}

extension LocationHandler {
    /// The time limit of a wake in seconds, if the service has not set one.
    private static let usualLimit = 10.0

    /// Delivers an event to the delegates. If the app was launched for the event, the event is delivered after the app
    /// has created its manager.
    ///
    /// - Parameters:
    ///   - limit: The time limit in seconds for completing the wake. If no delegate has received the event after half
    ///     of this time, the wake is completed, and the event is kept for delegates that are set later.
    ///   - done: A closure that is called once. It is called when the delegates have returned, or when the wake is
    ///     completed without a delegate.
    func deliver(_ event: LocationEvent, within limit: Double?, done: @escaping HeldEvent.Completion) {
        if let place = event.place { state.withLock { $0.book.learn(place) } }
        // This block runs after `didFinishLaunching`, because an `Application` is launched before the main thread
        // serves its queue.
        DispatchQueue.main.async { [self] in
            if tell(event) { return done(true) }
            let (number, superseded) = hold(event, done)
            superseded?(false)
            let timeout = (limit ?? Self.usualLimit) / 2
            WorkQueue.start(after: .seconds(timeout)) { [self] in giveUp(number) }
        }
    }

    /// Sends an event to the delegates. This method must be called on the main queue.
    ///
    /// - Returns: Whether a delegate received the event.
    private func tell(_ event: LocationEvent) -> Bool {
        let listeners = managers.filter { $0.hears(event) }
        for manager in listeners { manager.hear(event) }
        return !listeners.isEmpty
    }

    /// Keeps an event until a delegate can receive it. The event replaces a kept event for the same region, or an older
    /// significant change.
    ///
    /// - Returns: The closure that completes the wake of the replaced event.
    private func hold(
        _ event: LocationEvent, _ done: @escaping HeldEvent.Completion
    ) -> (number: Int, superseded: HeldEvent.Completion?) {
        state.withLock { state in
            state.lastHeld += 1
            let old = state.held.firstIndex { $0.event.region?.identifier == event.region?.identifier }
            let superseded = old.map { state.held.remove(at: $0) }?.done
            state.held.append(HeldEvent(number: state.lastHeld, event: event, done: done))
            // One event is kept for each region that can be monitored, and one for a significant change. Further events
            // would have no receiver. If more events are kept, the oldest event whose wake is complete is removed.
            if state.held.count > Limits.regions + 1, let oldest = state.held.firstIndex(where: { $0.done == nil }) {
                state.held.remove(at: oldest)
            }
            return (state.lastHeld, superseded)
        }
    }

    /// Delivers the kept events to the delegates that are set now.
    func tellHeld() {
        DispatchQueue.main.async { [self] in
            for held in state.withLock(\.held) where managers.contains(where: { $0.hears(held.event) }) {
                // The event is removed before delegates handle it, so that ``giveUp(_:)`` does not find it meanwhile.
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

    /// Completes the wake for an event that no delegate has received. Otherwise, the service would terminate the app.
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

    /// Prints, once, that the delegate does not implement the method for an event. Such a delegate may have a method
    /// that the library cannot call.
    func adviseMethods(of delegate: any CLLocationManagerDelegate, for subject: String, method: String) {
        let isFirst = state.withLock { state in
            defer { state.hasAdvisedMethods = true }
            return !state.hasAdvisedMethods
        }
        guard isFirst else { return }
        Notice.print(
            "\(type(of: delegate)) does not implement the method for \(subject). Implement \(method) "
                + "in the class that declares the conformance to CLLocationManagerDelegate.")
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

    /// The message for the developer of an app that has no delegate for the event. The message shows the missing line
    /// of code.
    fileprivate var advice: String {
        let lines =
            "let manager = CLLocationManager(); manager.delegate = self"
            + (kind == .changed ? "; manager.startMonitoringSignificantLocationChanges()" : "")
        return "The app was woken for \(subject), but no CLLocationManager has a delegate to receive it. "
            + "Make a manager at every launch and keep a reference to it: \(lines)"
    }
}
