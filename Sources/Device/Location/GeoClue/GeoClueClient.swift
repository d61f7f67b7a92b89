import NightshiftAPI

/// What GeoClue says of a place, checked.
struct GeoClueReading: Equatable, Sendable {
    var place: Coordinate
    /// Metres.
    var accuracy: Double

    /// Nil for what is no place: not a number, or out of range.
    init?(latitude: Double?, longitude: Double?, accuracy: Double?) {
        guard let latitude, let longitude, let accuracy, (0...SetPlace.worstAccuracy).contains(accuracy),
            let place = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        self.place = place
        self.accuracy = accuracy
    }
}

/// A client of GeoClue, from its creation to its deletion.
///
/// Pure: what the bus says goes in, what to ask of it comes out. Times are seconds of CLOCK_BOOTTIME.
struct GeoClueClient {
    /// What is wanted of GeoClue (its `RequestedAccuracyLevel`, `DistanceThreshold` and `TimeThreshold`).
    struct Demand: Hashable, Sendable {
        var level: Level
        /// Metres that the device moves between two places, at least.
        var distance: UInt32 = 0
        /// Seconds between two places, at least.
        var time: UInt32 = 0

        /// Changes of place: what networks tell, as far apart as significant changes are.
        static let changes = Demand(level: .street, distance: 500, time: 300)
        /// Nothing: the client is never started.
        static let probe = Demand(level: .city)

        /// One fix of so many metres: no more is asked for than is needed.
        static func fix(accuracy: Double) -> Demand {
            if accuracy < FixRequest.near { return Demand(level: .exact) }
            if accuracy < 1_000 { return Demand(level: .street) }
            return Demand(level: accuracy < 5_000 ? .neighbourhood : .city)
        }
    }

    /// GClueAccuracyLevel. Only for the last one GeoClue asks a satellite receiver.
    enum Level: UInt32, Sendable {
        case city = 4
        case neighbourhood = 5
        case street = 6
        case exact = 8
    }

    private enum State: Equatable {
        case off
        /// An answer is overdue at a time.
        case creating(Demand, number: Int, due: Double)
        case starting(Demand, path: String, number: Int, due: Double)
        case running(Demand, path: String)
        /// To be tried again at a time, or not before something changes.
        case failed(Demand, BusFailure, retry: Double?)
    }

    let use: GeoClueUse
    private var state = State.off
    private var numbers = 0
    /// The question for a place that is under way.
    private var question: Int?
    /// The place that has been announced meanwhile.
    private var announced: String?
    private var pause = Self.firstPause
    /// Somebody's no, and until when it is not questioned.
    private var refusal: (failure: BusFailure, until: Double)?
    /// Whether the answer that is awaited is overdue. It is welcome however late it comes.
    private(set) var isOverdue = false

    /// Seconds in which GeoClue answers, also where the bus has to start it. Without an agent in the desktop it may never.
    static let patience = 5.0
    static let firstPause = 1.0
    static let longestPause = 300.0
    /// Seconds for which somebody's no is not questioned: GeoClue may ask its user each time.
    static let afterRefusal = 3_600.0

    init(use: GeoClueUse) {
        self.use = use
    }

    var isRunning: Bool { if case .running = state { true } else { false } }

    var failure: BusFailure? { if case .failed(_, let failure, _) = state { failure } else { nil } }

    /// Why it gets no places, or got none when it was wanted last.
    var trouble: BusFailure? { failure ?? refusal?.failure }

    /// Whether GeoClue may have switched a satellite receiver on.
    var usesReceiver: Bool {
        switch state {
        case .running(let demand, _): demand.level == .exact
        case .off, .creating, .starting, .failed: false
        }
    }

    /// When it is to be tried again, or an answer is overdue.
    var deadline: Double? {
        switch state {
        case .failed(_, _, let retry): retry
        case .creating(_, _, let due), .starting(_, _, _, let due): isOverdue ? nil : due
        case .off, .running: nil
        }
    }

    /// Whether GeoClue has no client, and is not asked for one.
    var isOff: Bool {
        switch state {
        case .off, .failed: true
        case .creating, .starting, .running: false
        }
    }

    /// Whether an answer is awaited that is not overdue.
    var isAsking: Bool {
        switch state {
        case .creating, .starting: !isOverdue
        case .off, .running, .failed: false
        }
    }

    // MARK: - Inputs

    /// Takes note of an answer that is overdue.
    mutating func tick(now: Double) {
        switch state {
        case .creating(_, _, let due), .starting(_, _, _, let due): if due <= now { isOverdue = true }
        case .off, .running, .failed: break
        }
    }

    /// Says what is wanted now. To be called again when ``deadline`` has come.
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
            // Deleted when it is there.
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
            state = .starting(demand, path: path, number: number, due: now + Self.patience)
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

    /// Some client has been told of a place.
    mutating func updated(client: String, place: String) -> [LocationBusRequest] {
        switch state {
        case .starting(_, client, _, _), .running(_, client): announced = place
        case .off, .creating, .starting, .running, .failed: return []
        }
        return isRunning && question == nil ? askForAnnounced() : []
    }

    /// - Returns: what to ask next, and whether the answer is about a place that is wanted.
    mutating func answered(number: Int) -> (requests: [LocationBusRequest], counts: Bool) {
        guard question == number else { return ([], false) }
        question = nil
        return (askForAnnounced(), true)
    }

    /// GeoClue is gone, and the client with it.
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
        state = .creating(demand, number: numbers, due: now + Self.patience)
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
    /// Whether somebody has said no. Where only the one is missing who would be asked, he may come.
    var isRefusal: Bool { text.contains("AccessDenied") && !text.contains("no agent") }
}
