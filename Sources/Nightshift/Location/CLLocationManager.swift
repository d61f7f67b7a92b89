import Dispatch
public import Foundation
import NightshiftAPI
import Synchronization

// Unchecked for its subclasses' sake: what changes is in a mutex, and delegates are called on the main queue alone.
/// Gives a running app the place of the device, and has the app woken where the device crosses the boundaries of regions and
/// where its place changes significantly.
///
/// For any thread; everything returns at once, but for the first question about how things are, which waits for the
/// service's first words, 2 s at most. Make one at every launch and give it a delegate: an app that was launched for an
/// event hears of it there. Regions are the app's, and so are their events: the delegate of each manager hears them.
open class CLLocationManager: NSObject, @unchecked Sendable {
    private let handler: LocationHandler
    private let state = Mutex(State())

    // Unchecked for the delegate, which the main queue alone calls.
    private struct State: @unchecked Sendable {
        weak var delegate: (any CLLocationManagerDelegate)?
        /// What the delegate was told of its user's word.
        var told: CLAuthorizationStatus?
        var monitorsChanges = false
        /// Whether the delegate has heard that its user has said no, since significant changes were started last.
        var hasHeardDenial = false
        /// Calls of the delegate's methods that have reached the defaults.
        var unheard = 0
        var desiredAccuracy = kCLLocationAccuracyBest
        var distanceFilter = kCLDistanceFilterNone
        /// The updates that were started.
        var updates: PlaceRequest?
        /// The request for one place that is under way.
        var once: PlaceRequest?
        var settings = Settings()
    }

    /// Kept, and without an effect.
    private struct Settings: Sendable {
        var activityType = CLActivityType.other
        var allowsBackgroundUpdates = false
        var pausesAutomatically = true
        var showsBackgroundIndicator = false
        var headingFilter = 1.0
        var headingOrientation = CLDeviceOrientation.portrait
    }

    public override init() {
        handler = ServiceConnection.shared.location
        super.init()
        handler.add(self)
    }

    package init(connection: ServiceConnection) {
        handler = connection.location
        super.init()
        handler.add(self)
    }

    deinit {
        cancelPlaceRequests()
    }

    /// Not held. What the manager has missed is told to the first one.
    open var delegate: (any CLLocationManagerDelegate)? {
        get { state.withLock(\.delegate) }
        set {
            // Called on the main queue alone.
            nonisolated(unsafe) let delegate = newValue
            state.withLock { $0.delegate = delegate }
            if newValue != nil { handler.listen() }
        }
    }

    // MARK: - Its user

    /// The user's word; `notDetermined` while there is no service to tell it.
    open var authorizationStatus: CLAuthorizationStatus { handler.current().status }

    /// The same, from before iOS 14.
    open class func authorizationStatus() -> CLAuthorizationStatus {
        ServiceConnection.shared.location.current().status
    }

    /// Always full: no place is blurred.
    open var accuracyAuthorization: CLAccuracyAuthorization { .fullAccuracy }

    /// Has its user asked whether the app may know the place while it is seen, with the reason in its desktop entry
    /// (`X-Nightshift-LocationReason`). Does nothing where its user was asked before.
    open func requestWhenInUseAuthorization() {
        handler.requestAuthorization(.whenInUse)
    }

    /// Has its user asked whether the app may always know the place, which being woken takes. Does nothing where its
    /// user has said no, or yes to it.
    open func requestAlwaysAuthorization() {
        handler.requestAuthorization(.always)
    }

    // MARK: - The device

    /// Whether something tells where the device is.
    open class func locationServicesEnabled() -> Bool {
        let known = ServiceConnection.shared.location.currentAndNext().known
        return known?.canMonitorRegions == true || known?.canMonitorSignificantChanges == true
    }

    /// Whether regions of this class can be monitored: circles, where something tells the place.
    open class func isMonitoringAvailable(for regionClass: AnyClass) -> Bool {
        guard regionClass is CLCircularRegion.Type else { return false }
        return ServiceConnection.shared.location.currentAndNext().known?.canMonitorRegions == true
    }

    /// Whether a modem or the network tells of significant changes.
    open class func significantLocationChangeMonitoringAvailable() -> Bool {
        ServiceConnection.shared.location.currentAndNext().known?.canMonitorSignificantChanges == true
    }

    /// The last place that the service has told the app, where the app may know it: look at its `timestamp`. Reading it
    /// has the service asked for the next reader.
    open var location: CLLocation? { handler.currentAndNext().place.map { CLLocation($0) } }

    // MARK: - Regions

    /// Metres: the largest radius that is monitored.
    open var maximumRegionMonitoringDistance: CLLocationDistance { MonitoredRegion.largestRadius }

    /// What the app monitors, with what was asked and is still to be told to the service. Copies: identifiers tell
    /// which is which.
    open var monitoredRegions: Set<CLRegion> {
        Set(handler.currentAndNext().regions.map { CLCircularRegion($0) })
    }

    /// Has the app woken when the device enters or leaves the region, from now on and over relaunches and reboots; 20
    /// of an app.
    ///
    /// One with the same identifier is replaced. `didStartMonitoringFor` or `monitoringDidFailFor` tells what came of
    /// it; without its user's word the region is kept, and monitored when its user says yes.
    open func startMonitoring(for region: CLRegion) {
        guard let monitored = region.monitored else { return handler.refuse(region) }
        handler.add(.monitor(monitored))
    }

    /// Ends the monitoring of the region with this identifier.
    open func stopMonitoring(for region: CLRegion) {
        handler.add(.stopMonitoring(region.identifier))
    }

    /// Has this manager's delegate hear `didDetermineState`: when the first fix for a new region is there, `unknown`
    /// where it does not come within a minute or so.
    open func requestState(for region: CLRegion) {
        handler.requestState(of: region, for: self)
    }

    // MARK: - Significant changes

    /// Has the app woken when the place has changed significantly: by about 500 m or another cell, every five minutes
    /// at most. Has to be called at every launch.
    open func startMonitoringSignificantLocationChanges() {
        state.withLock { state in
            state.monitorsChanges = true
            state.hasHeardDenial = false
        }
        handler.add(.significantChanges(true))
        handler.listen()
    }

    /// Ends it, unless another manager monitors them.
    open func stopMonitoringSignificantLocationChanges() {
        state.withLock { $0.monitorsChanges = false }
        if !handler.managers.contains(where: \.monitorsChanges) { handler.add(.significantChanges(false)) }
    }

    var monitorsChanges: Bool { state.withLock(\.monitorsChanges) }

    // MARK: - The place while the app runs

    /// Metres of accuracy that `requestLocation()` and `startUpdatingLocation()` ask for; regions and significant changes do not use
    /// it. The delegate hears a place that is less accurate where no better one comes within seconds.
    open var desiredAccuracy: CLLocationAccuracy {
        get { state.withLock(\.desiredAccuracy) }
        set { change { $0.desiredAccuracy = newValue } }
    }

    /// Metres between two places of `startUpdatingLocation()`, at least; ``kCLDistanceFilterNone`` for every place.
    open var distanceFilter: CLLocationDistance {
        get { state.withLock(\.distanceFilter) }
        set { change { $0.distanceFilter = newValue } }
    }

    /// Has the delegate told one place, by `didUpdateLocations`, within seconds, or `didFailWithError` with ``CLError/locationUnknown``.
    ///
    /// A second call replaces the first; while updates are on it does nothing ([Apple](
    /// https://developer.apple.com/documentation/corelocation/cllocationmanager/requestlocation())). For an app in front, and
    /// within its background time: a suspended app hears of it when it runs again. Where the user was not asked yet, and sees the
    /// app, the user is asked.
    open func requestLocation() {
        guard let request = newRequest(isOnce: true) else { return }
        let old = state.withLock { state -> PlaceRequest? in
            guard state.updates == nil else { return request }
            defer { state.once = request }
            return state.once
        }
        old?.cancel()
        if old !== request { request.start() }
    }

    /// Has the delegate told places as they come, until `stopUpdatingLocation()`. Does nothing where updates are on; a pending
    /// `requestLocation()` is cancelled.
    ///
    /// For an app in front, and within its background time: while an app is suspended its receiver is off, and places come again when
    /// it runs. Nothing wakes or launches an app for them.
    open func startUpdatingLocation() {
        guard let request = newRequest(isOnce: false) else { return }
        let old = state.withLock { state -> PlaceRequest? in
            guard state.updates == nil else { return request }
            state.updates = request
            return state.once.take()
        }
        old?.cancel()
        if old !== request { request.start() }
    }

    /// Ends the updates, and cancels a pending `requestLocation()`.
    open func stopUpdatingLocation() { cancelPlaceRequests() }

    private func cancelPlaceRequests() {
        let requests = state.withLock { state in [state.updates.take(), state.once.take()] }
        for request in requests { request?.cancel() }
    }

    /// Has updates that are on go on as the manager wants them now.
    private func change(_ change: (inout State) -> Void) {
        let wasChanged = state.withLock { state in
            let before = (state.desiredAccuracy, state.distanceFilter)
            change(&state)
            return state.updates != nil && before != (state.desiredAccuracy, state.distanceFilter)
        }
        guard wasChanged, let request = newRequest(isOnce: false) else { return }
        let old = state.withLock { state in
            defer { if state.updates != nil { state.updates = request } }
            return state.updates
        }
        guard let old else { return }
        old.cancel()
        request.start()
    }

    private func newRequest(isOnce: Bool) -> PlaceRequest? {
        let (accuracy, distance) = state.withLock { ($0.desiredAccuracy, $0.distanceFilter) }
        func metres(_ value: Double) -> Double { value > 0 ? min(value, LocationUpdateRequest.longest) : 0 }
        let wanted = LocationUpdateRequest(
            accuracy: metres(accuracy), distance: isOnce ? 0 : metres(distance), isOnce: isOnce)
        return handler.placeRequest(wanted) { [weak self] request, update in self?.hear(update, of: request) }
    }

    /// The requests that are open.
    var placeRequests: [PlaceRequest] { state.withLock { [$0.updates, $0.once].compactMap(\.self) } }

    // MARK: - Settings without an effect

    open var activityType: CLActivityType {
        get { state.withLock(\.settings.activityType) }
        set { state.withLock { $0.settings.activityType = newValue } }
    }

    open var allowsBackgroundLocationUpdates: Bool {
        get { state.withLock(\.settings.allowsBackgroundUpdates) }
        set { state.withLock { $0.settings.allowsBackgroundUpdates = newValue } }
    }

    open var pausesLocationUpdatesAutomatically: Bool {
        get { state.withLock(\.settings.pausesAutomatically) }
        set { state.withLock { $0.settings.pausesAutomatically = newValue } }
    }

    open var showsBackgroundLocationIndicator: Bool {
        get { state.withLock(\.settings.showsBackgroundIndicator) }
        set { state.withLock { $0.settings.showsBackgroundIndicator = newValue } }
    }

    open var headingFilter: CLLocationDegrees {
        get { state.withLock(\.settings.headingFilter) }
        set { state.withLock { $0.settings.headingFilter = newValue } }
    }

    open var headingOrientation: CLDeviceOrientation {
        get { state.withLock(\.settings.headingOrientation) }
        set { state.withLock { $0.settings.headingOrientation = newValue } }
    }
}

// What the delegate hears, on the main queue.
extension CLLocationManager {
    func hear(_ status: CLAuthorizationStatus) {
        let (delegate, isLost) = state.withLock { state -> ((any CLLocationManagerDelegate)?, Bool) in
            guard state.delegate != nil, state.told != status else { return (nil, false) }
            let isLost =
                status == .denied && state.monitorsChanges && state.told != nil && !state.hasHeardDenial
            state.told = status
            state.hasHeardDenial = status == .denied && (isLost || state.hasHeardDenial)
            return (state.delegate, isLost)
        }
        delegate?.locationManagerDidChangeAuthorization(self)
        if isLost {
            delegate?.locationManager(self, didFailWithError: CLError(.denied, reason: "The app's user has said no."))
        }
    }

    /// Has the delegate hear that what the app has started is not to be had on this device.
    func fail(_ error: CLError) {
        DispatchQueue.main.async { [self] in delegate?.locationManager(self, didFailWithError: error) }
    }

    /// The service has answered a request of this manager.
    func hear(_ update: LocationUpdate, of request: PlaceRequest) {
        let isOpen = state.withLock { state in
            if state.once === request {
                state.once = nil
                return true
            }
            return state.updates === request
        }
        guard isOpen else { return }
        if let place = update.place {
            handler.learn(place)
            guard let delegate else { return }
            state.withLock { $0.unheard = 0 }
            delegate.locationManager(self, didUpdateLocations: [CLLocation(place)])
            guard state.withLock(\.unheard) > 0 else { return }
            handler.adviseMethods(
                of: delegate, for: "the place of the device", method: "locationManager(_:didUpdateLocations:)")
        } else {
            let error =
                update.failure == .denied
                ? CLError(.denied, reason: "The user does not allow the app to learn the location.")
                : CLError(.locationUnknown, reason: "Nothing told where the device is in time.")
            delegate?.locationManager(self, didFailWithError: error)
        }
    }

    func hears(_ event: LocationEvent) -> Bool {
        state.withLock { $0.delegate != nil && (event.kind != .changed || $0.monitorsChanges) }
    }

    func hear(_ event: LocationEvent) {
        guard let delegate else { return }
        state.withLock { $0.unheard = 0 }
        var calls = 0
        if event.kind == .changed {
            if let place = event.place {
                delegate.locationManager(self, didUpdateLocations: [CLLocation(place)])
                calls = 1
            } else {
                let reason = "The device has come into another cell, and nothing tells where that is."
                delegate.locationManager(self, didFailWithError: CLError(.locationUnknown, reason: reason))
            }
        } else if let crossed = event.region {
            let region = CLCircularRegion(crossed)
            if event.kind == .entered {
                delegate.locationManager(self, didEnterRegion: region)
            } else {
                delegate.locationManager(self, didExitRegion: region)
            }
            delegate.locationManager(
                self, didDetermineState: event.kind == .entered ? .inside : .outside, for: region)
            calls = 2
        }
        if calls > 0, state.withLock(\.unheard) == calls {
            handler.adviseMethods(of: delegate, for: event.subject, method: event.method)
        }
    }

    /// A method that the delegate does not have was called.
    func countUnheard() {
        state.withLock { $0.unheard += 1 }
    }

    func hear(_ regionState: CLRegionState, of region: CLRegion) {
        delegate?.locationManager(self, didDetermineState: regionState, for: region)
    }

    func hearStart(of region: CLRegion) {
        delegate?.locationManager(self, didStartMonitoringFor: region)
    }

    func hearFailure(of region: CLRegion, _ error: CLError) {
        delegate?.locationManager(self, monitoringDidFailFor: region, withError: error)
    }

    /// Its user's no is told once for each start, though the answer to that may come behind it.
    ///
    /// - Parameter reason: in a sentence.
    func hearNoChanges(_ code: CLError.Code, _ reason: String) {
        let isNews = state.withLock { state in
            guard state.monitorsChanges, state.delegate != nil else { return false }
            guard code == .denied else { return true }
            defer { state.hasHeardDenial = true }
            return !state.hasHeardDenial
        }
        guard isNews else { return }
        delegate?.locationManager(self, didFailWithError: CLError(code, reason: reason))
    }
}
