import NightshiftAPI

/// What is known of GeoClue and ModemManager, and what is asked of them over the system bus.
///
/// Pure. Times are seconds of CLOCK_BOOTTIME.
struct BusSide {
    enum Step: Equatable {
        case none
        case open
        case close
    }

    /// Whether there is a connection, or one is being made.
    private(set) var isOpen = false
    /// When a connection that has failed is tried again by itself.
    private(set) var retry: Double?
    private(set) var fix = GeoClueClient(use: .fix)
    private(set) var changes = GeoClueClient(use: .changes)
    private(set) var probe = GeoClueClient(use: .probe)
    /// Whether somebody waits to hear whether GeoClue answers.
    private var isProbing = false
    /// Whether GeoClue has left a question unanswered, and has answered none since.
    private(set) var isGeoClueSilent = false
    /// Its answer to the last probe, where that failed.
    private(set) var probeFailure: BusFailure?
    private(set) var modems = ModemWatch()
    /// Why there is no connection.
    private(set) var absence: BusFailure?
    private var reconnection = Reconnection()
    private var hasFailed = false
    /// Whether its socket has appeared since it was missed, and nobody may listen there yet.
    private var hasAppeared = false
    /// The unique names of the services; a service of which the bus has not said anything has none here.
    private var owners: [LocationService: String?] = [:]
    /// What the bus would start; nil until it has said.
    private var activatable: Set<String>?
    /// Whether it is being asked once more what it would start.
    private var isAskedAgain = false
    /// Whether GeoClue was there when the bus was asked last; kept for when there is no connection.
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

    /// Whether everything that was asked at the beginning has been answered.
    var isKnown: Bool {
        guard isOpen, activatable != nil, owners[.geoClue] != nil, let manager = owners[.modemManager] else {
            return false
        }
        return manager == nil || modems.isKnown
    }

    /// Whether everything was answered that was asked since the last look has begun.
    var isLookedAt: Bool { isKnown && !isAskedAgain && !isProbing }

    /// When GeoClue's answer to somebody who waits for it is overdue.
    var probeDeadline: Double? { isProbing ? probe.deadline : nil }

    /// Whether GeoClue tells no places now, as far as is known.
    var cannotTellPlaces: Bool {
        if !isOpen { return hasFailed }
        return hasGeoClue == false || fix.failure != nil || fix.isOverdue
    }

    /// Nil until the bus has said.
    private var hasGeoClue: Bool? {
        guard let activatable, let owner = owners[.geoClue] else { return nil }
        return owner != nil || activatable.contains(LocationService.geoClue.rawValue)
    }

    // MARK: - The connection

    /// Something is wanted anew: what has failed before is tried at once.
    mutating func tryAgain() {
        hasFailed = false
        retry = nil
    }

    /// Its socket has appeared, and nobody may listen yet.
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

    /// There is a connection: subscribes, then asks.
    mutating func connected() -> [LocationBusRequest] {
        absence = nil
        hasAppeared = false
        reconnection.reached()
        return LocationBusRequest.subscriptions + [.activatable]
            + LocationService.allCases.map(LocationBusRequest.owner)
    }

    /// Asks a bus that has said what it would start once more: services may have been installed since.
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

    /// Somebody asks what there is: GeoClue may be there and answer nobody.
    mutating func beginProbe() {
        isProbing = true
    }

    /// A look is over, and what has not answered is silent.
    mutating func isSilent() {
        isProbing = false
        guard isOpen, !isKnown else { return }
        if activatable == nil || LocationService.allCases.contains(where: { owners[$0] == nil }) {
            absence = BusFailure("it does not answer")
        } else {
            hadModem = .silent
        }
    }

    /// Takes note of answers that are overdue.
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

    // MARK: - What is wanted

    /// - Parameter fix: nil where no fix of GeoClue is wanted.
    mutating func want(fix demand: GeoClueClient.Demand?, watchesChanges: Bool, now: Double) -> [LocationBusRequest] {
        let isThere = isOpen && hasGeoClue == true
        var requests = fix.want(isThere ? demand : nil, now: now)
        // A cell costs nothing: GeoClue is for devices without.
        let usesGeoClue = watchesChanges && isKnown && !modems.canTellCells
        requests += changes.want(isThere && usesGeoClue ? .changes : nil, now: now)
        // Another client shows whether GeoClue answers.
        let isProbed = isThere && isProbing && fix.isOff && changes.isOff
        requests += probe.want(isProbed ? .probe : nil, now: now)
        if hasGeoClue != nil, !probe.isAsking { isProbing = false }
        return requests + modems.want(watchesChanges, now: now)
    }

    // MARK: - What the bus says

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
        // Any answer shows that there is a bus.
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
            // Anybody may send a signal to this connection; only the service's own counts.
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

    /// Takes note of GeoClue's answers, whatever they say.
    private mutating func noteAnswer(_ event: LocationBusEvent) {
        switch event {
        case .clientCreated(let use, _, .failure(let failure)):
            // The bus says that of a service that has ended.
            guard !failure.text.contains("NoReply") else { return }
            isGeoClueSilent = false
            probeFailure = use == .probe ? failure : nil
        case .clientCreated, .clientStarted:
            isGeoClueSilent = false
            probeFailure = nil
        default: break
        }
    }

    private mutating func ownerIs(_ owner: String?, of service: LocationService, now: Double) -> [LocationBusRequest] {
        // The answer to the question may repeat what the signal said already.
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
