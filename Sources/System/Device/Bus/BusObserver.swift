/// The state of the services on a bus: their presence, their properties, and the inhibitor lock.
///
/// A pure value: events from the bus are inputs, requests are outputs. A service that does not answer does not delay
/// the others.
struct BusObserver {
    enum Action: Equatable {
        case send(BusRequest)
        case close(Int32)
    }

    /// The known properties of an object.
    struct Knowledge: Equatable {
        /// The properties; nil until they have arrived, or if they cannot be read.
        var properties: [String: BusValue]?
        /// The reason why the properties cannot be read.
        var failure: BusFailure?
        /// The number of the request in progress.
        var question: Int?
        /// The time, in seconds of the caller's clock, until which the last properties remain valid although the
        /// service is gone or its answer is overdue.
        var countsUntil: Double?
    }

    private(set) var lock = InhibitorLock()
    private(set) var foreign = ForeignInterface()
    /// The reason why signals may be missed.
    private(set) var trouble: BusFailure?
    /// The reason why there is no connection; nil while there is a connection.
    private(set) var absence: String? = "not checked yet"
    private var owners: [BusService: String] = [:]
    /// The services about whose presence the bus has answered.
    private var answered: Set<BusService> = []
    private var objects: [BusObject: Knowledge] = [:]
    /// The time at which an answer is overdue, in seconds of the caller's clock.
    private var due: [BusRequest: Double] = [:]
    private var questions = 0

    /// The number of seconds within which a service on the same machine answers even under load. The last values of an
    /// absent or overdue service remain valid for the same time, so that a restart does not count as absence.
    static let timeout = 5.0

    /// Whether all initial requests have been answered or are overdue.
    var isSettled: Bool {
        !due.keys.contains { $0.isAboutDevice }
    }

    var deadline: Double? {
        [due.values.min(), objects.values.compactMap(\.countsUntil).min()].compactMap(\.self).min()
    }

    /// Returns whether a service is present; nil until the bus has answered.
    func isPresent(_ service: BusService) -> Bool? {
        answered.contains(service) ? owners[service] != nil : nil
    }

    subscript(object: BusObject) -> Knowledge { objects[object] ?? Knowledge() }

    /// Handles a new connection: returns the subscriptions, followed by the first requests.
    mutating func connected(now: Double) -> [Action] {
        absence = nil
        return BusRequest.subscriptions.map(Action.send) + BusService.allCases.flatMap { send(.owner($0), now: now) }
    }

    /// Handles the end of a connection, or a failed attempt to connect.
    mutating func disconnected(_ why: String, now: Double) -> [Action] {
        absence = why
        owners = [:]
        answered = []
        for object in objects.keys { outlive(object, now: now) }
        due = [:]
        trouble = nil
        return actions(lock.served(false), now: 0)
    }

    mutating func holdAwake(_ why: String?, now: Double) -> [Action] {
        actions(lock.setReason(why), now: now)
    }

    /// Handles a report of which interface the kernel's default route uses. This must be called after the events of the
    /// bus have been handled.
    mutating func route(through interface: String?, now: Double) -> [Action] {
        let isDisconnected =
            if case .integer(let state)? = self[.networkManager].properties?["State"] {
                NetworkManagerReading.isConnected(state: state) == false
            } else {
                false
            }
        let request = foreign.check(interface, isDisconnected: isDisconnected)
        return request.map { send($0, now: now) } ?? []
    }

    /// Whether the power source has to be requested from logind, which does not announce its changes.
    var asksLogindForPower: Bool {
        isPresent(.upower) == false && owners[.logind] != nil && self[.logind].properties?["OnExternalPower"] != nil
    }

    /// Handles a kernel event about a power supply.
    mutating func powerSupplyChanged(now: Double) -> [Action] {
        asksLogindForPower ? refresh(now: now) : []
    }

    /// Requests the values that logind does not announce: `IdleHint` at logins and logouts on terminals, and
    /// `OnExternalPower`.
    mutating func refresh(now: Double) -> [Action] {
        guard owners[.logind] != nil else { return [] }
        // A request in progress may be answered with values from before this call.
        if let question = self[.logind].question {
            due[.properties(.logind, number: question)] = nil
            objects[.logind]?.question = nil
        }
        return requestProperties(.logind, now: now)
    }

    /// Whether logind has answered the last ``refresh(now:)``, or has no valid values.
    var isRefreshed: Bool {
        let logind = self[.logind]
        return logind.properties == nil || owners[.logind] != nil && logind.question == nil
    }

    mutating func handle(_ event: BusEvent, now: Double) -> [Action] {
        switch event {
        case .subscriptionFailed(let failure):
            trouble = failure
            return []
        case .owner(let service, let owner):
            return ownerIs(owner, of: service, now: now)
        case .properties(let object, let number, let result):
            due[.properties(object, number: number)] = nil
            setAnswer(object, number: number, result)
            return []
        case .changed(let object, let sender, let change):
            // Any client may send a signal to this connection. Only signals of the service itself are accepted.
            guard owners[object.service] == sender else { return [] }
            return changed(object, change, now: now)
        case .prepareForSleep(let sender, let begins):
            guard owners[.logind] == sender else { return [] }
            guard let begins else { return requestProperties(.logind, now: now) }
            return prepareForSleep(begins, now: now)
        case .sessionsChanged(let sender):
            return owners[.logind] == sender ? refresh(now: now) : []
        case .lock(let number, let result):
            removeDue { if case .inhibit(_, number) = $0 { true } else { false } }
            return actions(lock.answered(number: number, result), now: now)
        case .device(let number, let path):
            removeDue { if case .device(_, number) = $0 { true } else { false } }
            return foreign.found(number: number, path: path).map { send($0, now: now) } ?? []
        case .deviceState(let number, let state):
            removeDue { if case .deviceState(_, number) = $0 { true } else { false } }
            foreign.stateAnswered(number: number, state: state)
            return []
        }
    }

    /// Handles answers that are overdue, and drops values that are no longer valid.
    mutating func tick(now: Double) {
        for (request, time) in due where time <= now {
            due[request] = nil
            switch request {
            case .properties(let object, let number):
                // The request number is kept, because a late answer is still accepted.
                var overdue = self[object]
                overdue.failure = BusFailure("there was no answer")
                overdue.question = number
                if overdue.properties != nil, overdue.countsUntil == nil { overdue.countsUntil = now + Self.timeout }
                objects[object] = overdue
            case .inhibit(_, let number): lock.isOverdue(number: number)
            case .owner, .subscribe, .device, .deviceState: break
            }
        }
        for (object, knowledge) in objects where knowledge.countsUntil.map({ $0 <= now }) == true {
            objects[object]?.properties = nil
            objects[object]?.countsUntil = nil
        }
    }

    private mutating func ownerIs(_ owner: String?, of service: BusService, now: Double) -> [Action] {
        due[.owner(service)] = nil
        answered.insert(service)
        // The answer to the owner request may repeat what a signal has already reported.
        guard owners[service] != owner else { return [] }
        owners[service] = owner
        var result: [Action] = []
        for object in service.objects {
            outlive(object, now: now)
            if owner != nil { result += requestProperties(object, now: now) }
        }
        if service == .logind { result += actions(lock.served(owner != nil), now: now) }
        return result
    }

    /// Keeps the last values of an object valid for a while after its owner has changed or gone.
    private mutating func outlive(_ object: BusObject, now: Double) {
        let former = self[object]
        if let question = former.question { due[.properties(object, number: question)] = nil }
        objects[object] = former.properties.map {
            Knowledge(properties: $0, countsUntil: former.countsUntil ?? now + Self.timeout)
        }
    }

    /// Requests the properties of an object. The previous values remain valid until the answer arrives.
    private mutating func requestProperties(_ object: BusObject, now: Double) -> [Action] {
        // The answer to the request in progress will be as recent as the event that caused this call.
        guard self[object].question == nil else { return [] }
        questions += 1
        objects[object, default: Knowledge()].question = questions
        return send(.properties(object, number: questions), now: now)
    }

    private mutating func setAnswer(_ object: BusObject, number: Int, _ result: Result<[String: BusValue], BusFailure>)
    {
        guard self[object].question == number else { return }
        switch result {
        case .success(let properties): objects[object] = Knowledge(properties: properties)
        case .failure(let failure): objects[object] = Knowledge(failure: failure)
        }
        // A new NetworkManager may have other unmanaged interfaces.
        if object == .networkManager { foreign.isOutOfDate = true }
    }

    private mutating func changed(_ object: BusObject, _ change: PropertyChange, now: Double) -> [Action] {
        objects[object]?.properties?.merge(change.changed) { _, new in new }
        // A service that could not answer before may be able to answer now.
        let isOutOfDate = !change.invalidated.isEmpty || self[object].failure != nil
        return isOutOfDate ? requestProperties(object, now: now) : []
    }

    private mutating func prepareForSleep(_ begins: Bool, now: Double) -> [Action] {
        objects[.logind]?.properties?["PreparingForSleep"] = .truth(begins)
        guard !begins else { return [] }
        // External power may have changed during sleep, and logind does not announce that.
        return requestProperties(.logind, now: now) + actions(lock.sleepEnded(), now: now)
    }

    private mutating func removeDue(_ isAnswered: (BusRequest) -> Bool) {
        due = due.filter { !isAnswered($0.key) }
    }

    private mutating func send(_ request: BusRequest, now: Double) -> [Action] {
        due[request] = now + Self.timeout
        return [.send(request)]
    }

    private mutating func actions(_ actions: [InhibitorLock.Action], now: Double) -> [Action] {
        var result: [Action] = []
        for action in actions {
            switch action {
            case .ask(let why, let number): result += send(.inhibit(why: why, number: number), now: now)
            case .close(let descriptor): result.append(.close(descriptor))
            }
        }
        return result
    }
}
