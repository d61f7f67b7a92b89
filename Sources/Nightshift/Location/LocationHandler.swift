import Dispatch
import NightshiftAPI
import NightshiftClient
import Synchronization

/// What an app's managers of location have in common: what the service says, what it is asked, and who hears of it.
///
/// Requests are told one after the other, behind the caller's back. Delegates are called on the main queue.
final class LocationHandler: Sendable {
    private let queue = DispatchQueue(label: "nightshift.location")
    /// Of its own, as the service may answer only when the user has.
    private let authorizationQueue = DispatchQueue(label: "nightshift.location.authorization")
    let state = Mutex(State())

    struct State: Sendable {
        weak var connection: ServiceConnection?
        var book = LocationBook()
        var managers: [WeakManager] = []
        /// Whether a wait for the service was in vain, and it has not come back since: nobody waits meanwhile.
        var isUnheard = false
        var isAskingAgain = false
        /// What its user is to be asked for, as long as that was not said.
        var authorization: LocationPermission?
        /// Regions that the service has, whose delegates were not told yet whether they are monitored.
        var unstarted: [MonitoredRegion] = []
        /// Events that nobody has heard yet.
        var held: [HeldEvent] = []
        var lastHeld = 0
        var hasAdvisedDelegate = false
        var hasAdvisedMethods = false

        /// Whether anything can be said of the user's word: it is known, or was waited for in vain.
        fileprivate var isSettled: Bool { book.isKnown || isUnheard }
    }

    struct WeakManager: Sendable {
        weak var manager: CLLocationManager?
    }

    /// How long a caller waits for a service that does not answer.
    private static let patience: Duration = .seconds(2)
    private static let requestPatience: Duration = .seconds(30)
    /// Seconds between two looks at a region whose state was asked for: the receiver may have told it meanwhile.
    private static let statePauses: [Double] = [0.5, 1, 2, 4, 8, 15, 30]

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - Managers

    /// Those that are there, in the order in which they were made.
    var managers: [CLLocationManager] {
        state.withLock { state in
            state.managers.removeAll { $0.manager == nil }
            return state.managers.compactMap(\.manager)
        }
    }

    func add(_ manager: CLLocationManager) {
        state.withLock { $0.managers.append(WeakManager(manager: manager)) }
        queue.async { [self] in
            _ = current()
            settle()
        }
    }

    /// A manager hears more than before: what it has missed is told.
    func listen() {
        settle()
        tellHeld()
    }

    // MARK: - What the service says

    /// What is known; waits for the service's first word, for ``patience`` at most and once.
    func current() -> LocationBook {
        let (book, mustAsk) = state.withLock { ($0.book, !$0.isSettled) }
        guard mustAsk else { return book }
        ask(isFirst: true)
        return state.withLock(\.book)
    }

    /// The same; looks again behind the caller's back, for whoever reads next.
    func currentAndNext() -> LocationBook {
        if state.withLock(\.isSettled) { askLater() }
        return current()
    }

    private func askLater() {
        let isDue = state.withLock { state in
            defer { state.isAskingAgain = true }
            return !state.isAskingAgain
        }
        guard isDue else { return }
        queue.async { [self] in
            state.withLock { $0.isAskingAgain = false }
            ask()
            settle()
        }
    }

    /// - Parameter isFirst: whether it may be asked beside ``queue``, where nothing is known.
    /// - Returns: whether the service has answered.
    @discardableResult
    private func ask(isFirst: Bool = false) -> Bool {
        guard let connection = state.withLock(\.connection) else { return false }
        let places = state.withLock(\.book.eventPlaces)
        do {
            let answer = try connection.request(.processLocation, hasty: true, patience: Self.patience)
            state.withLock { $0.book.learn(answer, isFirst: isFirst, askedAfter: places) }
            return true
        } catch let problem as Problem {
            state.withLock { $0.book.learn(problem) }
        } catch {
            state.withLock { $0.isUnheard = !$0.book.isKnown }
        }
        return false
    }

    /// On the channel's queue: asks nothing here.
    func receive(_ notice: LocationNotice) {
        state.withLock { $0.book.learn(notice.permission) }
        settle()
        // What the app may learn has changed with it.
        if !managers.isEmpty { askLater() }
    }

    /// The service can be reached (again).
    func serviceIsBack() {
        let isUsed = state.withLock { state in
            state.isUnheard = false
            state.book.channelOpened()
            return !state.managers.isEmpty || !state.book.wishes.isEmpty
        }
        guard isUsed else { return }
        queue.async { [self] in
            tellWishes()
            ask()
            settle()
        }
        authorizationQueue.async { [self] in tellAuthorization() }
        for request in managers.flatMap(\.placeRequests) { request.serviceIsBack() }
    }

    // MARK: - The place

    /// A request for the place; nil where the process has let go of the service.
    ///
    /// - Parameter answer: called on the main queue.
    func placeRequest(
        _ wanted: LocationUpdateRequest, answer: @escaping @Sendable (PlaceRequest, LocationUpdate) -> Void
    ) -> PlaceRequest? {
        // On the queue of authorization requests: one that the app has made before is sent first.
        state.withLock(\.connection).map { PlaceRequest(wanted, $0, authorizationQueue, answer: answer) }
    }

    func learn(_ place: Place) { state.withLock { $0.book.learn(place) } }

    /// Has delegates hear the user's word, where it is news to them, and what depends on it.
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

    /// A region's monitoring has begun, or why not.
    private func hear(_ region: MonitoredRegion, _ status: CLAuthorizationStatus, _ canMonitor: Bool) {
        if status == .denied || status == .restricted {
            fail(region, .regionMonitoringDenied, "The app's user does not let it monitor regions.")
        } else if canMonitor {
            for manager in managers { manager.hearStart(of: CLCircularRegion(region)) }
        } else {
            fail(
                region, .regionMonitoringSetupDelayed,
                "Nothing tells where the device is; the region is monitored as soon as something does.")
        }
    }

    // MARK: - What the app asks

    func add(_ wish: LocationBook.Wish) {
        let connection = state.withLock { state in
            state.book.add(wish)
            return state.connection
        }
        connection?.wake()
        queue.async { [self] in tellWishes() }
    }

    /// On ``queue``. What cannot be said now is said on the next channel.
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

    private func tell(_ wish: LocationBook.Wish, _ connection: ServiceConnection) throws -> ProcessLocation? {
        let patience = Self.requestPatience
        switch wish {
        case .monitor(let region): return try connection.request(.monitor(region), hasty: true, patience: patience)
        case .significantChanges(true):
            return try connection.request(.monitorSignificantChanges, hasty: true, patience: patience)
        case .stopMonitoring(let identifier):
            try connection.notify(.stopMonitoring(identifier), hasty: true, patience: patience)
        case .significantChanges(false):
            try connection.notify(.stopMonitoringSignificantChanges, hasty: true, patience: patience)
        }
        return nil
    }

    private func answerSignificantChanges() {
        DispatchQueue.main.async { [self] in
            let book = state.withLock(\.book)
            if book.status == .denied || book.status == .restricted {
                // His word first: it may have come while the start was being answered.
                for manager in managers { manager.hear(book.status) }
                for manager in managers { manager.hearNoChanges(.denied, "The app's user does not let it know.") }
            } else if book.known?.canMonitorSignificantChanges != true {
                let reason = "Nothing on this device tells of significant changes: no modem, no network location."
                for manager in managers { manager.hearNoChanges(.locationUnknown, reason) }
            }
        }
    }

    private func refuse(_ wish: LocationBook.Wish, _ problem: Problem) {
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
        // There is no such thing, which is all that was wanted.
        case .stopMonitoring, .significantChanges(false): break
        }
    }

    private func fail(_ region: MonitoredRegion, _ code: CLError.Code, _ reason: String) {
        let error = CLError(code, reason: reason)
        for manager in managers { manager.hearFailure(of: CLCircularRegion(region), error) }
    }

    /// What is no region that could be monitored.
    func refuse(_ region: CLRegion) {
        let reason =
            region is CLBeaconRegion
            ? "Nothing on this device receives beacons."
            : "'\(region.identifier)' is no circle around a place on the earth, of 0 to 10,000 km."
        let error = CLError(.regionMonitoringFailure, reason: reason)
        DispatchQueue.main.async { [self] in
            for manager in managers { manager.hearFailure(of: region, error) }
        }
    }

    // MARK: - Its user

    /// Has its user asked, where that may change something.
    func requestAuthorization(_ permission: LocationPermission) {
        guard state.withLock(\.book).isOpen(to: permission) else { return }
        authorizationQueue.async { [self] in
            guard current().isOpen(to: permission) else { return }
            let connection = state.withLock { state in
                state.authorization = permission
                return state.connection
            }
            connection?.wake()
            tellAuthorization()
        }
    }

    /// On ``authorizationQueue``.
    private func tellAuthorization() {
        let (connection, wish) = state.withLock { ($0.connection, $0.authorization) }
        guard let connection, let wish else { return }
        do {
            // The user's word comes as an event, whenever it is given.
            try connection.notify(
                .requestLocation(LocationAuthorizationRequest(permission: wish)), hasty: true,
                patience: Self.requestPatience)
        } catch let problem as Problem {
            Notice.print("The app's user cannot be asked for the location. \(problem.detail ?? problem.title)")
        } catch {
            return
        }
        state.withLock { $0.authorization = nil }
        queue.async { [self] in
            ask()
            settle()
        }
    }

    // MARK: - States

    /// Has one manager's delegate hear on which side of a region's boundary the device is.
    func requestState(of region: CLRegion, for manager: CLLocationManager) {
        queue.async { [self] in determineState(of: region, for: manager, Self.statePauses[...]) }
    }

    private func determineState(of region: CLRegion, for manager: CLLocationManager, _ pauses: ArraySlice<Double>) {
        let isAnswered = ask()
        settle()
        let book = state.withLock(\.book)
        let monitored = book.known?.regions.first { $0.region.identifier == region.identifier }
        let found = monitored?.state ?? region.monitored?.state(at: book.place) ?? .unknown
        // The first fix for a new region is on its way.
        if isAnswered, found == .unknown, monitored != nil, book.isMonitoring, let pause = pauses.first {
            queue.asyncAfter(deadline: .now() + pause) { [self] in
                determineState(of: region, for: manager, pauses.dropFirst())
            }
            return
        }
        DispatchQueue.main.async { manager.hear(isAnswered ? CLRegionState(found) : .unknown, of: region) }
    }
}

extension LocationBook {
    /// Whether regions are looked at: somebody tells where the device is, and the app may learn it.
    fileprivate var isMonitoring: Bool {
        (permission == .always || permission == .whenInUse) && known?.canMonitorRegions == true
    }

    /// Whether its user may still be asked for this.
    fileprivate func isOpen(to wish: LocationPermission) -> Bool {
        switch permission {
        case .ask, nil: true
        case .whenInUse: wish == .always
        case .always, .denied: false
        }
    }
}
