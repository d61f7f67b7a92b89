import NightshiftAPI

/// The state of GeoClue and ModemManager, and the requests that are sent to these services over the system bus.
///
/// A pure value. Times are seconds of CLOCK_BOOTTIME.
struct BusSide {
    enum Step: Equatable {
        case none
        case open
        case close
    }

    /// Whether the connection is open or being opened.
    private(set) var isOpen = false
    /// The time at which a failed connection is retried, if nothing causes an earlier attempt.
    private(set) var retry: Double?
    private(set) var fix = GeoClueClient(use: .fix)
    private(set) var changes = GeoClueClient(use: .changes)
    private(set) var probe = GeoClueClient(use: .probe)
    /// Whether a caller is waiting to learn if GeoClue answers.
    private var isProbing = false
    /// Whether GeoClue has left a request unanswered and has not answered any request since.
    private(set) var isGeoClueSilent = false
    /// GeoClue's answer to the last probe, if it failed.
    private(set) var probeFailure: BusFailure?
    private(set) var modems = ModemWatch()
    /// The reason why there is no connection.
    private(set) var absence: BusFailure?
    private var reconnection = Reconnection()
    private var hasFailed = false
    /// Whether the socket appeared after a failed attempt. The process that created the socket might not be listening
    /// yet.
    private var hasAppeared = false
    /// The unique names of the services. A service has no entry until the bus has reported its owner.
    private var owners: [LocationBusService: String?] = [:]
    /// The names of the services that the bus can start; nil until the bus has answered.
    private var activatable: Set<String>?
    /// Whether the list of startable services has been requested again.
    private var isAskedAgain = false
    /// Whether GeoClue was available when the bus last answered. The value is kept while there is no connection.
    private(set) var hadGeoClue: Bool?
    private(set) var hadModem: ModemKnowledge?

    enum ModemKnowledge: Equatable {
        case noManager
        case noModem
        case tellsNoCells
        case refuses(BusFailure)
        case silent
        case unreadable(BusFailure)
        case tellsCells
    }

    /// Whether all initial requests have been answered.
    var isKnown: Bool {
        guard isOpen, activatable != nil, owners[.geoClue] != nil, let manager = owners[.modemManager] else {
            return false
        }
        return manager == nil || modems.isKnown
    }

    /// Whether all requests of the current check of the sources have been answered.
    var isLookedAt: Bool { isKnown && !isAskedAgain && !isProbing }

    /// The time at which GeoClue's answer, for which a caller waits, is overdue.
    var probeDeadline: Double? { isProbing ? probe.deadline : nil }

    /// Whether GeoClue is known to be unable to report locations now.
    var cannotTellPlaces: Bool {
        if !isOpen { return hasFailed }
        return hasGeoClue == false || fix.failure != nil || fix.isOverdue
    }

    /// Whether GeoClue is available; nil until the bus has answered.
    private var hasGeoClue: Bool? {
        guard let activatable, let owner = owners[.geoClue] else { return nil }
        return owner != nil || activatable.contains(LocationBusService.geoClue.rawValue)
    }

    // MARK: - The connection

    /// Handles a new demand: allows an immediate new attempt after a failed one.
    mutating func tryAgain() {
        hasFailed = false
        retry = nil
    }

    /// Handles the appearance of the bus socket. The process that created the socket might not be listening yet.
    mutating func appeared() {
        hasAppeared = true
        tryAgain()
    }

    mutating func connection(isWanted: Bool, now: Double) -> Step {
        guard isWanted != isOpen else { return .none }
        guard isWanted else {
            forget()
            return .close
        }
        if hasFailed {
            guard let due = retry, due <= now else { return .none }
        }
        isOpen = true
        retry = nil
        return .open
    }

    /// Handles a new connection: returns the subscriptions, followed by the first requests.
    mutating func connected() -> [LocationBusRequest] {
        absence = nil
        hasAppeared = false
        reconnection.reached()
        return LocationBusRequest.subscriptions + [.activatable]
            + LocationBusService.allCases.map(LocationBusRequest.owner)
    }

    /// Requests the list of startable services again, because services may have been installed since.
    mutating func lookAgain() -> [LocationBusRequest] {
        guard activatable != nil, !isAskedAgain else { return [] }
        isAskedAgain = true
        return [.activatable]
    }

    mutating func ended(_ failure: BusFailure, now: Double) {
        forget()
        fix.gone(failure, now: now)
        changes.gone(failure, now: now)
        probe.gone(failure, now: now)
        absence = failure
        hasFailed = true
        reconnection.failed(hasAppeared: hasAppeared, now: now)
        hasAppeared = false
        retry = reconnection.deadline
    }

    /// Begins to check whether GeoClue answers. GeoClue can be present without answering.
    mutating func beginProbe() {
        isProbing = true
    }

    /// Handles the end of the time for a check of the sources. Services that have not answered count as silent.
    mutating func isSilent() {
        isProbing = false
        guard isOpen, !isKnown else { return }
        if activatable == nil || LocationBusService.allCases.contains(where: { owners[$0] == nil }) {
            absence = BusFailure("there was no answer")
        } else {
            hadModem = .silent
        }
    }

    /// Marks requests whose answers are overdue.
    mutating func tick(now: Double) {
        fix.tick(now: now)
        changes.tick(now: now)
        probe.tick(now: now)
        if fix.isOverdue || changes.isOverdue || probe.isOverdue { isGeoClueSilent = true }
    }

    private mutating func forget() {
        isOpen = false
        owners = [:]
        activatable = nil
        isAskedAgain = false
        isProbing = false
        modems.gone()
    }

    // MARK: - Demand

    /// - Parameter demand: the fix that is wanted from GeoClue; nil for none.
    mutating func want(fix demand: GeoClueClient.Demand?, watchesChanges: Bool, now: Double) -> [LocationBusRequest] {
        let isThere = isOpen && hasGeoClue == true
        var requests = fix.want(isThere ? demand : nil, now: now)
        // A cell costs no energy, so GeoClue is used only on devices without a modem that reports it.
        let usesGeoClue = watchesChanges && isKnown && !modems.canTellCells
        requests += changes.want(isThere && usesGeoClue ? .changes : nil, now: now)
        // A probe is not needed while another client exists, because that client also shows whether GeoClue answers.
        let isProbed = isThere && isProbing && fix.isOff && changes.isOff
        requests += probe.want(isProbed ? .probe : nil, now: now)
        if hasGeoClue != nil, !probe.isAsking { isProbing = false }
        return requests + modems.want(watchesChanges, now: now)
    }

    // MARK: - Events

    mutating func placeAnswered(_ use: GeoClueUse, number: Int) -> (requests: [LocationBusRequest], counts: Bool) {
        switch use {
        case .fix: fix.answered(number: number)
        case .changes: changes.answered(number: number)
        case .probe: ([], false)
        }
    }

    mutating func said(_ event: LocationBusEvent, now: Double) -> [LocationBusRequest] {
        defer { note() }
        noteAnswer(event)
        // Any answer shows that a bus is present.
        reconnection.succeeded()
        switch event {
        case .activatable(let names):
            activatable = names ?? activatable ?? []
            isAskedAgain = false
            return []
        case .activatableChanged: return lookAgain()
        case .owner(let service, let owner): return ownerIs(owner, of: service, now: now)
        case .clientCreated(.fix, let number, let result): return fix.created(number: number, result, now: now)
        case .clientCreated(.changes, let number, let result): return changes.created(number: number, result, now: now)
        case .clientCreated(.probe, let number, let result):
            isProbing = false
            return probe.created(number: number, result, now: now)
        case .clientStarted(.probe, _, _): return []
        case .clientStarted(.fix, let number, let failure): return fix.started(number: number, failure, now: now)
        case .clientStarted(.changes, let number, let failure):
            return changes.started(number: number, failure, now: now)
        case .updated(let client, let place, let sender):
            // Any client may send a signal to this connection. Only signals of the service itself are accepted.
            guard owners[.geoClue] == sender else { return [] }
            return fix.updated(client: client, place: place) + changes.updated(client: client, place: place)
        case .modems(let number, let result): return modems.answered(number: number, result)
        case .modemChanged(let path, let sender, let reading):
            guard owners[.modemManager] == sender else { return [] }
            modems.changed(path: path, reading)
            return []
        case .modemsChanged(let sender):
            guard owners[.modemManager] == sender else { return [] }
            return modems.modemsChanged()
        case .setUp(let path, let number, let failure):
            modems.setUpAnswered(path: path, number: number, failure, now: now)
            return []
        case .place: return []
        }
    }

    /// Records that GeoClue has answered, whatever the answer says.
    private mutating func noteAnswer(_ event: LocationBusEvent) {
        switch event {
        case .clientCreated(let use, _, .failure(let failure)):
            // The bus itself sends this error if a service ended before it answered.
            guard !failure.text.contains("NoReply") else { return }
            isGeoClueSilent = false
            probeFailure = use == .probe ? failure : nil
        case .clientCreated, .clientStarted:
            isGeoClueSilent = false
            probeFailure = nil
        default: break
        }
    }

    private mutating func ownerIs(_ owner: String?, of service: LocationBusService, now: Double) -> [LocationBusRequest]
    {
        // The answer to the owner request may repeat what a signal has already reported.
        guard owners[service] != .some(owner) else { return [] }
        let former = owners[service] ?? nil
        owners[service] = .some(owner)
        switch service {
        case .geoClue:
            guard former != nil else { return [] }
            let failure = BusFailure("GeoClue has ended")
            fix.gone(failure, now: now)
            changes.gone(failure, now: now)
            probe.gone(failure, now: now)
            return []
        case .modemManager:
            if owner != nil { return modems.appeared() }
            modems.gone()
            return []
        }
    }

    private mutating func note() {
        if isKnown { absence = nil }
        if let hasGeoClue { hadGeoClue = hasGeoClue }
        guard let manager = owners[.modemManager] else { return }
        guard manager != nil else {
            hadModem = .noManager
            return
        }
        guard modems.isKnown else { return }
        if let failure = modems.failure {
            hadModem = .unreadable(failure)
        } else if modems.canTellCells {
            hadModem = .tellsCells
        } else if let refusal = modems.refusal {
            hadModem = .refuses(refusal)
        } else {
            hadModem = modems.hasModem ? .tellsNoCells : .noModem
        }
    }
}
