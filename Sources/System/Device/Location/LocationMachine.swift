import NightshiftAPI

/// A state machine that decides which location source receives which request, and which updates are published.
///
/// A pure value: requests and events of the sources are inputs, actions are outputs. While an override is set, it is
/// the only source. Times are seconds of CLOCK_BOOTTIME.
struct LocationMachine {
    enum Action: Equatable {
        case tell(FixUpdate)
        /// Answers the callers that asked which sources are available.
        case looked(FixUpdate)
        /// Opens a connection to gpsd, and replaces an existing one.
        case openGpsd(GpsdConnection.Purpose)
        case closeGpsd
        case openBus
        case closeBus
        /// Sends a request over the bus, if the connection is open.
        case send(LocationBusRequest)
    }

    /// A check of the sources in progress, with the answers that are still missing.
    private struct Look {
        var deadline: Double
        var gpsd: Bool
        var bus = true

        /// The number of seconds within which a service on the same machine answers even under load.
        static let timeout = 5.0
    }

    let configuration: LocationConfiguration
    private var word: LocationSetting?
    private var wish = FixDemand()
    private var request: FixRequest?
    private var look: Look?
    /// Whether a caller is waiting for the end of the check.
    private var isAwaited = false
    private(set) var gpsd: GpsdSide
    private(set) var bus = BusSide()
    private var lastCell: String?
    private var hold = ReceiverHold()
    /// The time at which all due work was last done.
    private var settledAt = -Double.infinity
    /// The last published update about the available sources.
    private var told: FixUpdate?

    init(_ configuration: LocationConfiguration, word: LocationSetting?) {
        self.configuration = configuration
        self.word = word
        gpsd = GpsdSide(address: configuration.gpsd)
    }

    /// Whether the bus is needed permanently. Only then does the machine wait for an absent bus to appear.
    var needsBus: Bool { asksSources && wish.watchesChanges }

    /// Whether the machine waits for the bus to appear.
    var awaitsBus: Bool { needsBus && !bus.isOpen }

    /// The time at which ``tick(now:)`` must be called next. This time may already have passed when another method
    /// returns.
    var deadline: Double? {
        var times = [look?.deadline, request?.deadline, request?.otherSourceDeadline, request?.lookDeadline]
        times.append(bus.probeDeadline)
        if request != nil { times.append(gpsd.retry) }
        if request != nil || wish.watchesChanges {
            times += [bus.retry, bus.fix.deadline, bus.changes.deadline, bus.modems.deadline]
        }
        return times.compactMap(\.self).filter { $0 > settledAt }.min()
    }

    // MARK: - Requests

    mutating func begin(now: Double) -> [Action] {
        var actions = beginLook(now: now) + settle(now: now)
        if !asksSources { actions += setFix(now: now) }
        return actions
    }

    mutating func want(_ wish: FixDemand, now: Double) -> [Action] {
        let watchedBefore = self.wish.watchesChanges
        self.wish = wish
        if !wish.watchesChanges { lastCell = nil }
        var actions = beginLook(now: now)
        if !asksSources {
            if wish.fix != nil || wish.watchesChanges && !watchedBefore { actions += setFix(now: now) }
            if wish.fix != nil { actions.append(.tell(.receiver(seconds: 0))) }
        } else if let accuracy = wish.fix {
            if request == nil {
                request = FixRequest(accuracy: accuracy, timeout: wish.timeout, now: now)
                gpsd.requestBegins()
            } else {
                request?.askAgain(accuracy: accuracy, timeout: wish.timeout, now: now)
            }
        } else {
            actions += endRequest(with: nil, now: now)
        }
        return actions + settle(now: now)
    }

    /// Handles a request for the available sources. The request joins a check that is in progress.
    mutating func lookAgain(now: Double) -> [Action] {
        isAwaited = true
        if asksSources { bus.beginProbe() }
        let actions = look == nil ? beginLook(now: now) : []
        return actions + settle(now: now)
    }

    mutating func setPlace(_ word: LocationSetting?, now: Double) -> [Action] {
        guard word != self.word else { return [] }
        self.word = word
        let wasAsked = request != nil
        var actions = beginLook(now: now) + sourcesIfNew()
        if !asksSources {
            actions += setFix(now: now)
            if wasAsked { actions += endRequest(with: nil, now: now) }
        }
        return actions + settle(now: now)
    }

    /// Does the work that is due at a time.
    mutating func tick(now: Double) -> [Action] { settle(now: now) }

    /// Ends all requests, and returns the actions that close the connections.
    mutating func end(now: Double) -> [Action] {
        wish = FixDemand()
        look = nil
        request = nil
        return settle(now: now)
    }

    // MARK: - gpsd

    mutating func gpsdReported(_ report: GpsdReport, now: Double) -> [Action] {
        switch report {
        case .place(let place, let accuracy, let isAssumed):
            guard gpsd.purpose == .watch, let fix = Fix(place: place, accuracy: accuracy, time: now) else { return [] }
            return add(fix, from: "gpsd", isAssumed: isAssumed, now: now) + settle(now: now)
        case .version, .devices, .deviceActivated:
            gpsd.reported(report)
            if case .version = report { request?.gpsdGreeted(now: now) }
            if gpsd.isKnown { look?.gpsd = false }
            return settle(now: now)
        case .other: return []
        }
    }

    mutating func gpsdEnded(_ failure: GpsdFailure, now: Double) -> [Action] {
        gpsd.ended(failure, now: now)
        look?.gpsd = false
        return settle(now: now)
    }

    // MARK: - The bus

    mutating func busConnected(now: Double) -> [Action] {
        bus.connected().map(Action.send) + settle(now: now)
    }

    mutating func busEnded(_ failure: BusFailure, now: Double) -> [Action] {
        bus.ended(failure, now: now)
        look?.bus = false
        return settle(now: now)
    }

    /// Handles the appearance of the bus socket.
    mutating func busAppeared(now: Double) -> [Action] {
        bus.appeared()
        return settle(now: now)
    }

    mutating func busSaid(_ event: LocationBusEvent, now: Double) -> [Action] {
        var actions: [Action] = []
        if case .place(let use, let number, let reading) = event {
            let (requests, counts) = bus.placeAnswered(use, number: number)
            actions += requests.map(Action.send)
            if counts, let reading, let fix = Fix(place: reading.place, accuracy: reading.accuracy, time: now) {
                if use == .changes { actions += tell(.fix(fix, source: "geoclue")) }
                actions += add(fix, from: "geoclue", now: now)
            }
        } else {
            actions += bus.said(event, now: now).map(Action.send)
        }
        if bus.isLookedAt { look?.bus = false }
        if wish.watchesChanges, let cell = bus.modems.cell, cell != lastCell {
            lastCell = cell
            actions += tell(.cell(cell, time: now))
        }
        return actions + settle(now: now)
    }

    // MARK: - Deciding

    /// Whether the real sources are used. They are not used while an override is set or a trace is played.
    private var asksSources: Bool { word == nil && !configuration.isTraced }

    private mutating func beginLook(now: Double) -> [Action] {
        bus.tryAgain()
        guard asksSources else {
            look = nil
            return []
        }
        // gpsd reports changes of its receivers over an open connection, so no answer is needed then.
        look = Look(deadline: now + Look.timeout, gpsd: gpsd.isAsked && !gpsd.isFollowed)
        return bus.lookAgain().map(Action.send)
    }

    /// Returns the actions that publish the location of the override as a fix.
    private mutating func setFix(now: Double) -> [Action] {
        guard case .place(let place)? = word,
            let fix = Fix(place: place.place, accuracy: place.accuracy, time: now)
        else { return [] }
        return tell(.fix(fix, source: "override"))
    }

    private mutating func add(_ fix: Fix, from source: String, isAssumed: Bool = false, now: Double) -> [Action] {
        guard request?.add(fix, from: source, isAssumed: isAssumed) == true else { return [] }
        return endRequest(with: request?.best, now: now)
    }

    private mutating func endRequest(with candidate: FixRequest.Candidate?, now: Double) -> [Action] {
        guard let request else { return [] }
        self.request = nil
        let found = candidate.map { tell(.fix($0.fix, source: $0.source)) } ?? []
        var seconds = request.receiverSeconds(now: now)
        if gpsd.usesReceiver, let since = request.onSince { seconds += hold.used(from: since, to: now) }
        return found + tell(.receiver(seconds: seconds))
    }

    /// Adapts the requests to all sources to the current demand.
    private mutating func settle(now: Double) -> [Action] {
        settledAt = now
        var actions: [Action] = []
        bus.tick(now: now)
        // The deadline is extended, because the bus may have to start GeoClue before it can answer.
        if let due = bus.probeDeadline, let end = look?.deadline, due > max(now, end) { look?.deadline = due }
        if let deadline = look?.deadline, deadline <= now {
            if look?.gpsd == true { gpsd.isSilent() }
            if look?.bus == true { bus.isSilent() }
            look = nil
        }
        if look?.gpsd == false, look?.bus == false { look = nil }
        if let request, request.deadline <= now || canNobodyTell(request, now: now) {
            actions += endRequest(with: request.best, now: now)
        }
        actions += settleGpsd(now: now) + settleBus(now: now)
        if look?.bus == true, bus.isLookedAt {
            // All answers from the bus have arrived.
            look?.bus = false
            return actions + settle(now: now)
        }
        request?.receiver(isOn: gpsd.usesReceiver || bus.fix.usesReceiver, now: now)
        return actions + sourcesIfNew() + answer()
    }

    private func canNobodyTell(_ request: FixRequest, now: Double) -> Bool {
        guard gpsd.isUnable, gpsd.retry == nil, bus.cannotTellPlaces else { return false }
        return gpsd.purpose == nil || request.lookDeadline <= now
    }

    private mutating func settleGpsd(now: Double) -> [Action] {
        var purpose: GpsdConnection.Purpose?
        if asksSources, let request {
            let isFirst = request.isNear || bus.cannotTellPlaces
            if isFirst || request.otherSourceDeadline <= now { purpose = .watch }
        }
        if purpose == nil, look?.gpsd == true { purpose = .look }
        switch gpsd.want(purpose, now: now) {
        case .none: return []
        case .open(let purpose): return [.openGpsd(purpose)]
        case .close: return [.closeGpsd]
        }
    }

    private mutating func settleBus(now: Double) -> [Action] {
        var demand: GeoClueClient.Demand?
        if asksSources, let request {
            let isFirst = !request.isNear || gpsd.isUnable
            if isFirst || request.otherSourceDeadline <= now { demand = .fix(accuracy: request.accuracy) }
        }
        let watches = asksSources && wish.watchesChanges
        var actions = bus.want(fix: demand, watchesChanges: watches, now: now).map(Action.send)
        switch bus.connection(isWanted: demand != nil || watches || look?.bus == true, now: now) {
        case .none: break
        case .open: actions.append(.openBus)
        case .close: actions.append(.closeBus)
        }
        return actions
    }

    // MARK: - Updates

    private var sourcesUpdate: FixUpdate {
        switch word {
        case .place:
            return .sources([Self.setStatus], canMonitorRegions: true, canMonitorSignificantChanges: true)
        case .some(.none):
            return .sources([Self.hiddenStatus], canMonitorRegions: false, canMonitorSignificantChanges: false)
        case nil where configuration.isTraced:
            return .sources([Self.tracedStatus], canMonitorRegions: false, canMonitorSignificantChanges: false)
        case nil:
            let tellsPlaces = gpsd.isAvailable || bus.geoClueStatus.isAvailable
            let tellsChanges = bus.geoClueStatus.isAvailable || bus.modemStatus.isAvailable
            return .sources(
                [gpsd.status, bus.geoClueStatus, bus.modemStatus], canMonitorRegions: tellsPlaces,
                canMonitorSignificantChanges: tellsChanges)
        }
    }

    private static let setStatus = LocationStatus.SourceStatus(
        name: "override", isAvailable: true,
        sentence: "A location override is set. To use the real location: nightshift device unset location.")
    private static let hiddenStatus = LocationStatus.SourceStatus(
        name: "override", isAvailable: false,
        sentence: "An override hides the location. To use the real location: nightshift device unset location.")
    private static let tracedStatus = LocationStatus.SourceStatus(
        name: "override", isAvailable: false,
        sentence: "A trace is played instead of the device, and it has not set a location yet.")

    /// Returns the actions that publish an update. The first publication is always that of the available sources.
    private mutating func tell(_ update: FixUpdate) -> [Action] {
        (told == nil ? sources() : []) + [.tell(update)]
    }

    /// Returns the actions that publish the sources if they have changed. Nothing is published before all answers have
    /// arrived, because a partial result would be replaced at once.
    private mutating func sourcesIfNew() -> [Action] {
        look == nil ? sources() : []
    }

    /// Returns the action that answers waiting callers. The changes are published first, so that both agree.
    private mutating func answer() -> [Action] {
        guard isAwaited, look == nil else { return [] }
        isAwaited = false
        return [.looked(sourcesUpdate)]
    }

    private mutating func sources() -> [Action] {
        let update = sourcesUpdate
        guard update != told else { return [] }
        told = update
        return [.tell(update)]
    }
}
