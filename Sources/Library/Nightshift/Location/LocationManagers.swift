import NightshiftAPI

/// The state of location in an app's process. The state consists of the service's responses, and of the requests that
/// the app has made since.
struct LocationManagers: Sendable {
    /// A request of the app. A new request replaces an unsent request for the same region or for significant changes.
    enum Wish: Hashable, Sendable {
        case monitor(MonitoredRegion)
        case stopMonitoring(String)
        case significantChanges(Bool)

        /// The identifier of the region, or nil for significant changes.
        fileprivate var region: String? {
            switch self {
            case .monitor(let region): region.identifier
            case .stopMonitoring(let identifier): identifier
            case .significantChanges: nil
            }
        }
    }

    private(set) var known: ProcessLocation?
    /// The unsent requests, in the order in which they will be sent to the service.
    private(set) var wishes: [(number: Int, wish: Wish)] = []
    private var lastNumber = 0
    /// The number of the request that is being sent.
    private var telling: Int?
    /// The user's permission from a notice on the channel. This permission is newer than the permission in any
    /// response.
    private var told: LocationPermission?
    /// The location from the last event that had a location. ``eventPlaces`` is the number of such events.
    private var eventPlace: Place?
    private(set) var eventPlaces = 0
    /// The value of ``eventPlaces`` at the time when the current request was sent.
    private var eventPlacesBeforeTelling = 0
    /// The service's reason for refusing location information to this program.
    private(set) var refusal: Problem?

    // MARK: - State for the app

    /// The user's permission, or nil if it is not known yet.
    var permission: LocationPermission? { told ?? known?.permission }

    var status: CLAuthorizationStatus {
        permission == nil && refusal != nil ? .restricted : CLAuthorizationStatus(permission)
    }

    /// Whether the service has sent its state or a refusal.
    var isKnown: Bool { known != nil || refusal != nil }

    /// The regions that the service will monitor when it has received all requests.
    var regions: [MonitoredRegion] {
        var regions = known?.regions.map(\.region) ?? []
        for (_, wish) in wishes {
            guard let identifier = wish.region else { continue }
            regions.removeAll { $0.identifier == identifier }
            if case .monitor(let region) = wish { regions.append(region) }
        }
        return regions
    }

    /// The last location of the device. The value is nil if the app is not allowed to use the location.
    var place: Place? {
        switch permission {
        case .always, .whenInUse: known?.place
        case .ask, .denied, nil: nil
        }
    }

    // MARK: - Responses and events of the service

    /// Applies a response of the service.
    ///
    /// - Parameters:
    ///   - isFirst: Whether this is the response to the first reading, which may arrive out of order with other
    ///     responses. Such a response is ignored if a state is already known.
    ///   - places: The value of ``eventPlaces`` when the request was sent. If an event has brought a location since
    ///     then, the event's location is newer than the location in the response.
    mutating func learn(_ answer: ProcessLocation, isFirst: Bool = false, askedAfter places: Int) {
        guard !isFirst || known == nil else { return }
        known = answer
        if places < eventPlaces { known?.place = eventPlace }
        refusal = nil
    }

    mutating func learn(_ problem: Problem) {
        if known == nil { refusal = problem }
    }

    mutating func learn(_ permission: LocationPermission) {
        told = permission
        refusal = nil
    }

    mutating func learn(_ place: Place) {
        eventPlace = place
        eventPlaces += 1
        known?.place = place
    }

    /// Records that a new channel was opened. The service sends its state again on the new channel.
    mutating func channelOpened() {
        if let told { known?.permission = told }
        told = nil
    }

    // MARK: - Requests of the app

    mutating func add(_ wish: Wish) {
        wishes.removeAll { $0.number != telling && $0.wish.region == wish.region }
        lastNumber += 1
        wishes.append((lastNumber, wish))
    }

    /// Marks the next request as being sent, and returns that request.
    mutating func tell() -> (number: Int, wish: Wish)? {
        telling = wishes.first?.number
        eventPlacesBeforeTelling = eventPlaces
        return wishes.first
    }

    /// Records that the request could not be sent. The request stays pending.
    mutating func tellLater() {
        telling = nil
    }

    /// Records that the request was sent.
    ///
    /// - Parameter answer: The service's response. The response is nil if the service has not sent one, or has refused
    ///   the request.
    mutating func told(_ number: Int, _ answer: ProcessLocation?) {
        telling = nil
        guard let index = wishes.firstIndex(where: { $0.number == number }) else { return }
        switch wishes.remove(at: index).wish {
        case .stopMonitoring(let identifier): known?.regions.removeAll { $0.region.identifier == identifier }
        case .monitor, .significantChanges: break
        }
        if let answer { learn(answer, askedAfter: eventPlacesBeforeTelling) }
    }
}

extension MonitoredRegion {
    /// Returns whether the location is inside or outside the region. Returns unknown if the location is not accurate
    /// enough to decide.
    func state(at place: Place?) -> RegionState {
        guard let place, let point = Coordinate(latitude: place.latitude, longitude: place.longitude) else {
            return .unknown
        }
        let distance = center.distance(to: point)
        if distance + place.accuracy < radius { return .inside }
        return distance - place.accuracy > radius ? .outside : .unknown
    }
}
