import NightshiftAPI

/// What an app's process knows of location: what the service has said, and what was asked of it since.
struct LocationBook: Sendable {
    /// What the app asks for. A later wish about the same thing stands in the place of one that waits.
    enum Wish: Hashable, Sendable {
        case monitor(MonitoredRegion)
        case stopMonitoring(String)
        case significantChanges(Bool)

        /// The region's identifier; nil for significant changes.
        fileprivate var region: String? {
            switch self {
            case .monitor(let region): region.identifier
            case .stopMonitoring(let identifier): identifier
            case .significantChanges: nil
            }
        }
    }

    private(set) var known: ProcessLocation?
    /// What the service was not told yet, in the order in which it is to hear it.
    private(set) var wishes: [(number: Int, wish: Wish)] = []
    private var lastNumber = 0
    /// The number of the wish that is being told.
    private var telling: Int?
    /// The user's word as the channel has told it: newer than any answer.
    private var told: LocationPermission?
    /// The last place that an event has brought, and how many have.
    private var eventPlace: Place?
    private(set) var eventPlaces = 0
    /// ``eventPlaces`` when the wish that is being told was sent.
    private var eventPlacesBeforeTelling = 0
    /// Why the service tells this program nothing of location.
    private(set) var refusal: Problem?

    // MARK: - What the app sees

    /// Nil where the service has not said it.
    var permission: LocationPermission? { told ?? known?.permission }

    var status: CLAuthorizationStatus {
        permission == nil && refusal != nil ? .restricted : CLAuthorizationStatus(permission)
    }

    /// Whether the service has said how it is.
    var isKnown: Bool { known != nil || refusal != nil }

    /// What the service monitors, as it will be when it has heard everything.
    var regions: [MonitoredRegion] {
        var regions = known?.regions.map(\.region) ?? []
        for (_, wish) in wishes {
            guard let identifier = wish.region else { continue }
            regions.removeAll { $0.identifier == identifier }
            if case .monitor(let region) = wish { regions.append(region) }
        }
        return regions
    }

    /// Where the device was last, for an app that may learn it.
    var place: Place? {
        switch permission {
        case .always, .whenInUse: known?.place
        case .ask, .denied, nil: nil
        }
    }

    // MARK: - What the service says

    /// Applies an answer of the service.
    ///
    /// - Parameters:
    ///   - isFirst: whether it was asked beside everything else, and does not count where something is known.
    ///   - places: ``eventPlaces`` when the question was sent: a place that an event has brought since is newer than the answer's.
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

    /// Another channel: the service says anew what it has to say.
    mutating func channelOpened() {
        if let told { known?.permission = told }
        told = nil
    }

    // MARK: - What the app asks

    mutating func add(_ wish: Wish) {
        wishes.removeAll { $0.number != telling && $0.wish.region == wish.region }
        lastNumber += 1
        wishes.append((lastNumber, wish))
    }

    /// The next wish that the service is to hear.
    mutating func tell() -> (number: Int, wish: Wish)? {
        telling = wishes.first?.number
        eventPlacesBeforeTelling = eventPlaces
        return wishes.first
    }

    /// The wish was not told, and waits.
    mutating func tellLater() {
        telling = nil
    }

    /// The wish was told.
    ///
    /// - Parameter answer: what the service says now; nil where it says nothing or has refused.
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
    /// On which side of the boundary a place is for certain.
    func state(at place: Place?) -> RegionState {
        guard let place, let point = Coordinate(latitude: place.latitude, longitude: place.longitude) else {
            return .unknown
        }
        let distance = center.distance(to: point)
        if distance + place.accuracy < radius { return .inside }
        return distance - place.accuracy > radius ? .outside : .unknown
    }
}
