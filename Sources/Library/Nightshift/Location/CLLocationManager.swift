import Dispatch
public import Foundation
import NightshiftAPI
import Synchronization

// The conformance is unchecked because the class can have subclasses. A mutex protects mutable state, and delegates are
// called only on the main queue.
/// An object that provides the device's location to a running app. The service can also wake the app when the device
/// crosses the boundary of a region, or when the location changes significantly.
///
/// You can call the methods on any thread. They return at once, with one exception: the first reading of the state
/// waits up to 2 s for the service's first response. Make a manager at every launch and give it a delegate, because an
/// app that was launched for an event receives the event through the delegate. Regions and their events belong to the
/// app, so the delegate of every manager receives the events.
open class CLLocationManager: NSObject, @unchecked Sendable {
    private let handler: LocationHandler
    private let state = Mutex(State())

    // The conformance is unchecked because the delegate may not be sendable. The delegate is called only on the main
    // queue.
    private struct State: @unchecked Sendable {
        weak var delegate: (any CLLocationManagerDelegate)?
        /// The permission that the delegate was last notified of.
        var told: CLAuthorizationStatus?
        var monitorsChanges = false
        /// Whether the delegate has been notified of a denial by the user since the manager last started to monitor
        /// significant changes.
        var hasHeardDenial = false
        /// The number of recent calls to delegate methods that the delegate does not implement.
        var unheard = 0
        var desiredAccuracy = kCLLocationAccuracyBest
        var distanceFilter = kCLDistanceFilterNone
        /// The request for continuous updates. The value is nil if updates are off.
        var updates: PlaceRequest?
        /// The pending request for one location.
        var once: PlaceRequest?
        var settings = Settings()
    }

    /// Settings that are stored but have no effect.
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

    /// The delegate, as a weak reference. The first delegate that you set receives the events that the manager has
    /// missed.
    open var delegate: (any CLLocationManagerDelegate)? {
        get { state.withLock(\.delegate) }
        set {
            // The delegate is called only on the main queue.
            nonisolated(unsafe) let delegate = newValue
            state.withLock { $0.delegate = delegate }
            if newValue != nil { handler.listen() }
        }
    }

    // MARK: - Permission

    /// The user's permission. The value is `notDetermined` while the service cannot be reached.
    open var authorizationStatus: CLAuthorizationStatus { handler.current().status }

    /// Returns the user's permission. This method is the form that apps used before iOS 14.
    open class func authorizationStatus() -> CLAuthorizationStatus {
        ServiceConnection.shared.location.current().status
    }

    /// The accuracy of locations for the app. It is always full.
    open var accuracyAuthorization: CLAccuracyAuthorization { .fullAccuracy }

    /// Asks the user whether the app may use the location while the user sees the app. The question shows the reason
    /// from the app's desktop entry (`X-Nightshift-LocationReason`). This method does nothing if the user has been
    /// asked before.
    open func requestWhenInUseAuthorization() {
        handler.requestAuthorization(.whenInUse)
    }

    /// Asks the user whether the app may always use the location. Location events can wake the app only with this
    /// permission. This method does nothing if the user has already given this permission, or has refused any use of
    /// the location.
    open func requestAlwaysAuthorization() {
        handler.requestAuthorization(.always)
    }

    // MARK: - The device

    /// Returns whether a source provides the device's location.
    open class func locationServicesEnabled() -> Bool {
        let known = ServiceConnection.shared.location.currentAndNext().known
        return known?.canMonitorRegions == true || known?.canMonitorSignificantChanges == true
    }

    /// Returns whether regions of this class can be monitored. The result is true for circles if a source provides the
    /// location.
    open class func isMonitoringAvailable(for regionClass: AnyClass) -> Bool {
        guard regionClass is CLCircularRegion.Type else { return false }
        return ServiceConnection.shared.location.currentAndNext().known?.canMonitorRegions == true
    }

    /// Returns whether significant changes can be detected. This requires a modem or a source of network locations.
    open class func significantLocationChangeMonitoringAvailable() -> Bool {
        ServiceConnection.shared.location.currentAndNext().known?.canMonitorSignificantChanges == true
    }

    /// The last location that the service has sent to the app. The value is nil if the app is not allowed to use the
    /// location. Check the `timestamp` of the location, because the location may be old. Reading this property also
    /// sends a request to the service, whose result is returned at the next reading.
    open var location: CLLocation? { handler.currentAndNext().place.map { CLLocation($0) } }

    // MARK: - Regions

    /// The largest radius in metres that can be monitored.
    open var maximumRegionMonitoringDistance: CLLocationDistance { MonitoredRegion.largestRadius }

    /// Copies of the monitored regions. The set includes changes that were not sent to the service yet. Compare regions
    /// by their identifiers.
    open var monitoredRegions: Set<CLRegion> {
        Set(handler.currentAndNext().regions.map { CLCircularRegion($0) })
    }

    /// Starts monitoring a region. The service wakes the app when the device enters or leaves the region. Monitoring
    /// continues after relaunches and reboots. An app can monitor 20 regions.
    ///
    /// The region replaces a monitored region with the same identifier. The delegate gets the result in
    /// `didStartMonitoringFor` or `monitoringDidFailFor`. Without the user's permission, the service stores the region,
    /// and monitors it after the user has given permission.
    open func startMonitoring(for region: CLRegion) {
        guard let monitored = region.monitored else { return handler.refuse(region) }
        handler.add(.monitor(monitored))
    }

    /// Stops monitoring the region with this identifier.
    open func stopMonitoring(for region: CLRegion) {
        handler.add(.stopMonitoring(region.identifier))
    }

    /// Requests a region's state. This manager's delegate receives the state in `didDetermineState`. For a new region,
    /// the delegate receives the state when the first location fix is available. The state is `unknown` if no fix
    /// arrives within about a minute.
    open func requestState(for region: CLRegion) {
        handler.requestState(of: region, for: self)
    }

    // MARK: - Significant changes

    /// Starts monitoring significant changes. The service wakes the app when the location has changed by about 500 m,
    /// or when the device has entered another mobile network cell. The service wakes the app at most every five
    /// minutes. Call this method at every launch.
    open func startMonitoringSignificantLocationChanges() {
        state.withLock { state in
            state.monitorsChanges = true
            state.hasHeardDenial = false
        }
        handler.add(.significantChanges(true))
        handler.listen()
    }

    /// Stops monitoring significant changes, unless another manager monitors them.
    open func stopMonitoringSignificantLocationChanges() {
        state.withLock { $0.monitorsChanges = false }
        if !handler.managers.contains(where: \.monitorsChanges) { handler.add(.significantChanges(false)) }
    }

    var monitorsChanges: Bool { state.withLock(\.monitorsChanges) }

    // MARK: - Locations for a running app

    /// The accuracy in metres that `requestLocation()` and `startUpdatingLocation()` request. If no location of this
    /// accuracy is found within seconds, the delegate receives a less accurate location. This property has no effect on
    /// regions and significant changes.
    open var desiredAccuracy: CLLocationAccuracy {
        get { state.withLock(\.desiredAccuracy) }
        set { change { $0.desiredAccuracy = newValue } }
    }

    /// The minimum distance in metres between two locations that `startUpdatingLocation()` delivers. With
    /// ``kCLDistanceFilterNone``, the delegate gets every location.
    open var distanceFilter: CLLocationDistance {
        get { state.withLock(\.distanceFilter) }
        set { change { $0.distanceFilter = newValue } }
    }

    /// Requests one location. Within seconds, the delegate receives the location in `didUpdateLocations`. If no
    /// location is found, the delegate's method `didFailWithError` is called with ``CLError/locationUnknown``.
    ///
    /// A second call replaces the first request. While updates are on, this method does nothing ([Apple](
    /// https://developer.apple.com/documentation/corelocation/cllocationmanager/requestlocation())). Use this method in
    /// the foreground or within the app's background time. A suspended app receives the location when it is resumed. If
    /// the user sees the app and has not been asked for permission yet, the library asks for permission.
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

    /// Starts continuous updates. The delegate receives locations as they arrive, until you call
    /// `stopUpdatingLocation()`. This method cancels a pending `requestLocation()`. It does nothing if updates are
    /// already on.
    ///
    /// Use this method in the foreground or within the app's background time. A suspended app does not use the location
    /// receiver. Updates continue when the app is resumed. Updates do not wake or launch the app.
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

    /// Stops updates, and cancels a pending `requestLocation()`.
    open func stopUpdatingLocation() { cancelPlaceRequests() }

    private func cancelPlaceRequests() {
        let requests = state.withLock { state in [state.updates.take(), state.once.take()] }
        for request in requests { request?.cancel() }
    }

    /// Changes the settings of updates. If updates are on, they are restarted with the new settings.
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

    /// The open requests of this manager for the device's location.
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

// This extension calls the delegate, on the main queue.
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
            delegate?.locationManager(
                self,
                didFailWithError: CLError(.denied, reason: "This app does not have permission to use the location."))
        }
    }

    /// Notifies the delegate that this device does not support a feature that the app has started.
    func fail(_ error: CLError) {
        DispatchQueue.main.async { [self] in delegate?.locationManager(self, didFailWithError: error) }
    }

    /// Handles the service's response to a request of this manager.
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
                of: delegate, for: "the device's location", method: "locationManager(_:didUpdateLocations:)")
        } else {
            let error =
                update.failure == .denied
                ? CLError(.denied, reason: "This app does not have permission to use the location.")
                : CLError(.locationUnknown, reason: "No source provided the location in time.")
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
                let reason = "The device has entered another network cell, and no source provides its location."
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

    /// Counts a call to a delegate method that the delegate does not implement.
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

    /// Notifies the delegate that significant changes are not available. A denial by the user is reported only once for
    /// each start of monitoring, even if the service responds to the start after the denial.
    ///
    /// - Parameter reason: The reason as a sentence.
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
