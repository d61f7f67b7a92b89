import Dispatch
import Executors
import NightshiftAPI
import NightshiftClient
import Synchronization

/// An object that all location managers of an app share. It stores the service's state, sends requests, and calls the
/// delegates.
///
/// Requests are sent asynchronously, one after the other. Delegates are called on the main queue.
final class LocationHandler: Sendable {
    private let queue = WorkQueue()
    /// The queue for permission requests. These requests have their own queue, because the service may not respond
    /// before the user has answered.
    private let authorizationQueue = WorkQueue()
    let state = Mutex(State())

    struct State: Sendable {
        weak var connection: ServiceConnection?
        var book = LocationManagers()
        var managers: [WeakManager] = []
        /// Whether a caller has waited for the service without receiving a response, and the service has not been
        /// reached since. Callers do not wait if this value is true.
        var isUnheard = false
        var isAskingAgain = false
        /// The permission to request from the user. The value is nil after the request was sent.
        var authorization: LocationPermission?
        /// The regions that the service stores, and for which the delegates have not been notified yet whether
        /// monitoring has begun.
        var unstarted: [MonitoredRegion] = []
        /// The events that no delegate has received yet.
        var held: [HeldEvent] = []
        var lastHeld = 0
        var hasAdvisedDelegate = false
        var hasAdvisedMethods = false

        /// Whether the permission can be reported, because it is known or because the wait for it has ended without a
        /// response.
        fileprivate var isSettled: Bool { book.isKnown || isUnheard }
    }

    struct WeakManager: Sendable {
        weak var manager: CLLocationManager?
    }

    /// The longest time that a caller waits for the service's response.
    private static let timeout: Duration = .seconds(2)
    private static let requestTimeout: Duration = .seconds(30)
    /// The pauses in seconds between attempts to read a region's state that the app has requested. The library repeats
    /// the attempts because the receiver may find the location meanwhile.
    private static let statePauses: [Double] = [0.5, 1, 2, 4, 8, 15, 30]

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - Managers

    /// The existing managers, in the order in which they were made.
    var managers: [CLLocationManager] {
        state.withLock { state in
            state.managers.removeAll { $0.manager == nil }
            return state.managers.compactMap(\.manager)
        }
    }

    func add(_ manager: CLLocationManager) {
        state.withLock { $0.managers.append(WeakManager(manager: manager)) }
        queue.add { [self] in
            _ = current()
            settle()
        }
    }

    /// Delivers the events that managers have missed. This method is called when a manager becomes able to receive more
    /// events.
    func listen() {
        settle()
        tellHeld()
    }

    // MARK: - Responses and events of the service

    /// Returns the known state. If no state is known and no earlier wait has failed, this method waits for the
    /// service's first response, for at most ``timeout``.
    func current() -> LocationManagers {
        let (book, mustAsk) = state.withLock { ($0.book, !$0.isSettled) }
        guard mustAsk else { return book }
        ask(isFirst: true)
        return state.withLock(\.book)
    }

    /// Returns the known state, and requests a new one asynchronously for the next reading.
    func currentAndNext() -> LocationManagers {
        if state.withLock(\.isSettled) { askLater() }
        return current()
    }

    private func askLater() {
        let isDue = state.withLock { state in
            defer { state.isAskingAgain = true }
            return !state.isAskingAgain
        }
        guard isDue else { return }
        queue.add { [self] in
            state.withLock { $0.isAskingAgain = false }
            ask()
            settle()
        }
    }

    /// Requests the state from the service.
    ///
    /// - Parameter isFirst: Whether no state is known yet. In that case, this method may be called outside ``queue``.
    /// - Returns: Whether the service has responded.
    @discardableResult
    private func ask(isFirst: Bool = false) -> Bool {
        guard let connection = state.withLock(\.connection) else { return false }
        let places = state.withLock(\.book.eventPlaces)
        do {
            let answer = try connection.request(.processLocation, hasty: true, timeout: Self.timeout)
            state.withLock { $0.book.learn(answer, isFirst: isFirst, askedAfter: places) }
            return true
        } catch let problem as Problem {
            state.withLock { $0.book.learn(problem) }
        } catch {
            state.withLock { $0.isUnheard = !$0.book.isKnown }
        }
        return false
    }

    /// Handles a notice from the service. This method runs on the channel's queue, where it must not make requests.
    func receive(_ notice: LocationNotice) {
        state.withLock { $0.book.learn(notice.permission) }
        settle()
        // A change of the permission also changes which locations the app may use.
        if !managers.isEmpty { askLater() }
    }

    /// Sends the pending requests when the service can be reached, for the first time or again.
    func onReconnect() {
        let isUsed = state.withLock { state in
            state.isUnheard = false
            state.book.channelOpened()
            return !state.managers.isEmpty || !state.book.wishes.isEmpty
        }
        guard isUsed else { return }
        queue.add { [self] in
            tellWishes()
            ask()
            settle()
        }
        authorizationQueue.add { [self] in tellAuthorization() }
        for request in managers.flatMap(\.placeRequests) { request.onReconnect() }
    }

    // MARK: - Locations

    /// Creates a request for the location, or returns nil if the process has closed its connection.
    ///
    /// - Parameter answer: A closure that is called on the main queue.
    func placeRequest(
        _ wanted: LocationUpdateRequest, answer: @escaping @Sendable (PlaceRequest, LocationUpdate) -> Void
    ) -> PlaceRequest? {
        // The request uses the queue of permission requests, so that it is sent after any permission request that the
        // app made earlier.
        state.withLock(\.connection).map { PlaceRequest(wanted, $0, authorizationQueue, answer: answer) }
    }

    func learn(_ place: Place) { state.withLock { $0.book.learn(place) } }

    /// Notifies the delegates of the user's permission if it has changed. Then notifies them of the results that depend
    /// on the permission.
    private func settle() {
        DispatchQueue.main.async { [self] in
            guard let status = state.withLock({ $0.isSettled ? $0.book.status : nil }) else { return }
            for manager in managers { manager.hear(status) }
            guard status != .notDetermined else { return }
            let (regions, canMonitor) = state.withLock { state in
                defer { state.unstarted = [] }
                return (state.unstarted, state.book.known?.canMonitorRegions == true)
            }
            for region in regions { hear(region, status, canMonitor) }
        }
    }

    /// Notifies the delegates that the monitoring of a region has begun, or why it has not begun.
    private func hear(_ region: MonitoredRegion, _ status: CLAuthorizationStatus, _ canMonitor: Bool) {
        if status == .denied || status == .restricted {
            fail(region, .regionMonitoringDenied, "This app does not have permission to monitor regions.")
        } else if canMonitor {
            for manager in managers { manager.hearStart(of: CLCircularRegion(region)) }
        } else {
            fail(
                region, .regionMonitoringSetupDelayed,
                "No source provides the device's location yet. Monitoring of the region begins when one does.")
        }
    }

    // MARK: - Requests of the app

    func add(_ wish: LocationManagers.Wish) {
        let connection = state.withLock { state in
            state.book.add(wish)
            return state.connection
        }
        connection?.wake()
        queue.add { [self] in tellWishes() }
    }

    /// Sends the pending requests. This method runs on ``queue``. Requests that cannot be sent now are sent on the next
    /// channel.
    private func tellWishes() {
        guard let connection = state.withLock(\.connection) else { return }
        while let next = state.withLock({ $0.book.tell() }) {
            do {
                let answer = try tell(next.wish, connection)
                state.withLock { state in
                    state.book.told(next.number, answer)
                    if case .monitor(let region) = next.wish { state.unstarted.append(region) }
                }
                if case .significantChanges(true) = next.wish { answerSignificantChanges() }
            } catch let problem as Problem {
                state.withLock { $0.book.told(next.number, nil) }
                refuse(next.wish, problem)
            } catch {
                return state.withLock { $0.book.tellLater() }
            }
            settle()
        }
    }

    private func tell(_ wish: LocationManagers.Wish, _ connection: ServiceConnection) throws -> ProcessLocation? {
        let timeout = Self.requestTimeout
        switch wish {
        case .monitor(let region): return try connection.request(.monitor(region), hasty: true, timeout: timeout)
        case .significantChanges(true):
            return try connection.request(.monitorSignificantChanges, hasty: true, timeout: timeout)
        case .stopMonitoring(let identifier):
            try connection.notify(.stopMonitoring(identifier), hasty: true, timeout: timeout)
        case .significantChanges(false):
            try connection.notify(.stopMonitoringSignificantChanges, hasty: true, timeout: timeout)
        }
        return nil
    }

    private func answerSignificantChanges() {
        DispatchQueue.main.async { [self] in
            let book = state.withLock(\.book)
            if book.status == .denied || book.status == .restricted {
                // The delegates are notified of the permission first, because it may have arrived before the response
                // to the start of monitoring.
                for manager in managers { manager.hear(book.status) }
                for manager in managers {
                    manager.hearNoChanges(.denied, "This app does not have permission to use the location.")
                }
            } else if book.known?.canMonitorSignificantChanges != true {
                let reason = "This device cannot detect significant changes: it has no modem and no network location."
                for manager in managers { manager.hearNoChanges(.locationUnknown, reason) }
            }
        }
    }

    private func refuse(_ wish: LocationManagers.Wish, _ problem: Problem) {
        let reason = problem.detail ?? problem.title
        let isForbidden = problem.status == 403
        switch wish {
        case .monitor(let region):
            let code: CLError.Code = isForbidden ? .regionMonitoringDenied : .regionMonitoringFailure
            DispatchQueue.main.async { [self] in fail(region, code, reason) }
        case .significantChanges(true):
            DispatchQueue.main.async { [self] in
                for manager in managers { manager.hearNoChanges(isForbidden ? .denied : .locationUnknown, reason) }
            }
        // The service does not monitor what this request would stop, so the request is done.
        case .stopMonitoring, .significantChanges(false): break
        }
    }

    private func fail(_ region: MonitoredRegion, _ code: CLError.Code, _ reason: String) {
        let error = CLError(code, reason: reason)
        for manager in managers { manager.hearFailure(of: CLCircularRegion(region), error) }
    }

    /// Notifies the delegates that a region cannot be monitored.
    func refuse(_ region: CLRegion) {
        let reason =
            region is CLBeaconRegion
            ? "This device cannot receive beacons."
            : "'\(region.identifier)' is not a circle around a valid coordinate with a radius of 0 to 10,000 km."
        let error = CLError(.regionMonitoringFailure, reason: reason)
        DispatchQueue.main.async { [self] in
            for manager in managers { manager.hearFailure(of: region, error) }
        }
    }

    // MARK: - Permission

    /// Asks the user for a permission, if the user can still grant it.
    func requestAuthorization(_ permission: LocationPermission) {
        guard state.withLock(\.book).isOpen(to: permission) else { return }
        authorizationQueue.add { [self] in
            guard current().isOpen(to: permission) else { return }
            let connection = state.withLock { state in
                state.authorization = permission
                return state.connection
            }
            connection?.wake()
            tellAuthorization()
        }
    }

    /// Sends the permission request. This method runs on ``authorizationQueue``.
    private func tellAuthorization() {
        let (connection, wish) = state.withLock { ($0.connection, $0.authorization) }
        guard let connection, let wish else { return }
        do {
            // The user's answer arrives as an event, at any later time.
            try connection.notify(
                .requestLocation(LocationAuthorizationRequest(permission: wish)), hasty: true,
                timeout: Self.requestTimeout)
        } catch let problem as Problem {
            Notice.print(
                "The service could not ask the user for permission to use the location. "
                    + (problem.detail ?? problem.title))
        } catch {
            return
        }
        state.withLock { $0.authorization = nil }
        queue.add { [self] in
            ask()
            settle()
        }
    }

    // MARK: - States of regions

    /// Notifies one manager's delegate whether the device is inside or outside a region.
    func requestState(of region: CLRegion, for manager: CLLocationManager) {
        queue.add { [self] in determineState(of: region, for: manager, Self.statePauses[...]) }
    }

    private func determineState(of region: CLRegion, for manager: CLLocationManager, _ pauses: ArraySlice<Double>) {
        let isAnswered = ask()
        settle()
        let book = state.withLock(\.book)
        let monitored = book.known?.regions.first { $0.region.identifier == region.identifier }
        let found = monitored?.state ?? region.monitored?.state(at: book.place) ?? .unknown
        // The first location fix for a new region has not arrived yet.
        if isAnswered, found == .unknown, monitored != nil, book.isMonitoring, let pause = pauses.first {
            queue.add(after: .seconds(pause)) { [self] in
                determineState(of: region, for: manager, pauses.dropFirst())
            }
            return
        }
        DispatchQueue.main.async { manager.hear(isAnswered ? CLRegionState(found) : .unknown, of: region) }
    }
}

extension LocationManagers {
    /// Whether regions are monitored. This requires a source that provides the location, and the permission to use the
    /// location.
    fileprivate var isMonitoring: Bool {
        (permission == .always || permission == .whenInUse) && known?.canMonitorRegions == true
    }

    /// Returns whether the user can still be asked for this permission.
    fileprivate func isOpen(to wish: LocationPermission) -> Bool {
        switch permission {
        case .ask, nil: true
        case .whenInUse: wish == .always
        case .always, .denied: false
        }
    }
}
