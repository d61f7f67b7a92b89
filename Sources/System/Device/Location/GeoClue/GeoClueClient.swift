import NightshiftAPI

/// A location from GeoClue with valid values.
struct GeoClueReading: Equatable, Sendable {
    var place: Coordinate
    /// The accuracy in metres.
    var accuracy: Double

    /// Returns nil if a value is missing, is not a number, or is out of range.
    init?(latitude: Double?, longitude: Double?, accuracy: Double?) {
        guard let latitude, let longitude, let accuracy, (0...LocationOverride.worstAccuracy).contains(accuracy),
            let place = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        self.place = place
        self.accuracy = accuracy
    }
}

/// A client of GeoClue, from its creation to its deletion.
///
/// A pure value: events from the bus are inputs, requests are outputs. Times are seconds of CLOCK_BOOTTIME.
struct GeoClueClient {
    /// The settings of a client (GeoClue's `RequestedAccuracyLevel`, `DistanceThreshold` and `TimeThreshold`).
    struct Demand: Hashable, Sendable {
        var level: Level
        /// The minimum distance in metres between two reported locations.
        var distance: UInt32 = 0
        /// The minimum time in seconds between two reported locations.
        var time: UInt32 = 0

        /// The demand for changes of location: network locations at the minimum distance of a significant change.
        static let changes = Demand(level: .street, distance: 500, time: 300)
        /// The demand of a probe, whose client is never started.
        static let probe = Demand(level: .city)

        /// Returns the demand for one fix with an accuracy in metres. The accuracy level is not higher than needed.
        static func fix(accuracy: Double) -> Demand {
            if accuracy < FixRequest.near { return Demand(level: .exact) }
            if accuracy < 1_000 { return Demand(level: .street) }
            return Demand(level: accuracy < 5_000 ? .neighbourhood : .city)
        }
    }

    /// The accuracy levels of GeoClue (GClueAccuracyLevel). GeoClue uses a satellite receiver only for the last level.
    enum Level: UInt32, Sendable {
        case city = 4
        case neighbourhood = 5
        case street = 6
        case exact = 8
    }

    private enum State: Equatable {
        case off
        /// The client is being created. The answer is overdue from the time `due`.
        case creating(Demand, number: Int, due: Double)
        case starting(Demand, path: String, number: Int, due: Double)
        case running(Demand, path: String)
        /// The client has failed. It is created again at the time `retry`, or, without one, only after the demand
        /// changes.
        case failed(Demand, BusFailure, retry: Double?)
    }

    let use: GeoClueUse
    private var state = State.off
    private var numbers = 0
    /// The number of the location request in progress.
    private var question: Int?
    /// The object path of the last announced location, until the service requests its properties.
    private var announced: String?
    private var pause = Self.firstPause
    /// The last refusal, and the time until which the service does not ask again.
    private var refusal: (failure: BusFailure, until: Double)?
    /// Whether the answer is overdue. The service still accepts a late answer.
    private(set) var isOverdue = false

    /// The number of seconds within which GeoClue answers, even if the bus has to start it. If the desktop has no
    /// agent, GeoClue may never answer.
    static let timeout = 5.0
    static let firstPause = 1.0
    static let longestPause = 300.0
    /// The number of seconds for which a refusal is respected, because GeoClue may prompt the user at each request.
    static let afterRefusal = 3_600.0

    init(use: GeoClueUse) {
        self.use = use
    }

    var isRunning: Bool { if case .running = state { true } else { false } }

    var failure: BusFailure? { if case .failed(_, let failure, _) = state { failure } else { nil } }

    /// The reason why GeoClue reports no locations, or why it reported none for the last demand.
    var trouble: BusFailure? { failure ?? refusal?.failure }

    /// Whether GeoClue may have switched a satellite receiver on.
    var usesReceiver: Bool {
        switch state {
        case .running(let demand, _): demand.level == .exact
        case .off, .creating, .starting, .failed: false
        }
    }

    /// The time of the next retry, or the time at which an answer is overdue.
    var deadline: Double? {
        switch state {
        case .failed(_, _, let retry): retry
        case .creating(_, _, let due), .starting(_, _, _, let due): isOverdue ? nil : due
        case .off, .running: nil
        }
    }

    /// Whether no client exists or is being created.
    var isOff: Bool {
        switch state {
        case .off, .failed: true
        case .creating, .starting, .running: false
        }
    }

    /// Whether GeoClue still has time to answer a request.
    var isAsking: Bool {
        switch state {
        case .creating, .starting: !isOverdue
        case .off, .running, .failed: false
        }
    }

    // MARK: - Inputs

    /// Marks an answer as overdue once its time has passed.
    mutating func tick(now: Double) {
        switch state {
        case .creating(_, _, let due), .starting(_, _, _, let due): if due <= now { isOverdue = true }
        case .off, .running, .failed: break
        }
    }

    /// Sets the current demand, and returns the next requests. It must be called again at ``deadline``.
    mutating func want(_ demand: Demand?, now: Double) -> [LocationBusRequest] {
        switch state {
        case .off: return demand.map { create($0, now: now) } ?? []
        case .failed(let former, _, let retry):
            guard let demand else {
                state = .off
                return []
            }
            return demand != former || retry.map({ $0 <= now }) == true ? create(demand, now: now) : []
        case .creating(let former, _, _):
            if demand == former { return [] }
            // The unwanted client is deleted when the answer with its path arrives.
            reset()
            return demand.map { create($0, now: now) } ?? []
        case .starting(let former, let path, _, _), .running(let former, let path):
            if demand == former { return [] }
            reset()
            return [.deleteClient(path: path)] + (demand.map { create($0, now: now) } ?? [])
        }
    }

    mutating func created(number: Int, _ result: Result<String, BusFailure>, now: Double) -> [LocationBusRequest] {
        guard case .creating(let demand, number, _) = state else {
            if case .success(let path) = result { return [.deleteClient(path: path)] }
            return []
        }
        switch result {
        case .success(let path) where use == .probe:
            reset()
            refusal = nil
            return [.deleteClient(path: path)]
        case .success(let path):
            isOverdue = false
            state = .starting(demand, path: path, number: number, due: now + Self.timeout)
            return [.startClient(path: path, use, demand, number: number)]
        case .failure(let failure):
            fail(demand, failure, now: now)
            return []
        }
    }

    mutating func started(number: Int, _ failure: BusFailure?, now: Double) -> [LocationBusRequest] {
        guard case .starting(let demand, let path, number, _) = state else { return [] }
        isOverdue = false
        guard let failure else {
            state = .running(demand, path: path)
            pause = Self.firstPause
            refusal = nil
            return askForAnnounced()
        }
        fail(demand, failure, now: now)
        return [.deleteClient(path: path)]
    }

    /// Handles a location update for any client, and ignores one for another client.
    mutating func updated(client: String, place: String) -> [LocationBusRequest] {
        switch state {
        case .starting(_, client, _, _), .running(_, client): announced = place
        case .off, .creating, .starting, .running, .failed: return []
        }
        return isRunning && question == nil ? askForAnnounced() : []
    }

    /// Handles the answer to a location request.
    ///
    /// - Returns: the next requests, and whether the answer belongs to the request in progress.
    mutating func answered(number: Int) -> (requests: [LocationBusRequest], counts: Bool) {
        guard question == number else { return ([], false) }
        question = nil
        return (askForAnnounced(), true)
    }

    /// Handles the end of GeoClue, which also ends the client.
    mutating func gone(_ failure: BusFailure, now: Double) {
        switch state {
        case .off, .failed: break
        case .creating(let demand, _, _), .starting(let demand, _, _, _), .running(let demand, _):
            fail(demand, failure, now: now)
        }
    }

    // MARK: - Steps

    private mutating func create(_ demand: Demand, now: Double) -> [LocationBusRequest] {
        reset()
        if let refusal, now < refusal.until {
            state = .failed(demand, refusal.failure, retry: refusal.until)
            return []
        }
        numbers += 1
        state = .creating(demand, number: numbers, due: now + Self.timeout)
        return [.createClient(use, number: numbers)]
    }

    private mutating func askForAnnounced() -> [LocationBusRequest] {
        guard let place = announced else { return [] }
        announced = nil
        numbers += 1
        question = numbers
        return [.place(path: place, use, number: numbers)]
    }

    private mutating func fail(_ demand: Demand, _ failure: BusFailure, now: Double) {
        reset()
        if failure.isRefusal { refusal = (failure, now + Self.afterRefusal) }
        state = .failed(demand, failure, retry: failure.isRefusal ? now + Self.afterRefusal : now + pause)
        pause = min(pause * 2, Self.longestPause)
    }

    private mutating func reset() {
        state = .off
        question = nil
        announced = nil
        isOverdue = false
    }
}

extension BusFailure {
    /// Whether GeoClue denied access. A missing agent does not count as a refusal, because an agent may still start.
    var isRefusal: Bool { text.contains("AccessDenied") && !text.contains("no agent") }
}
