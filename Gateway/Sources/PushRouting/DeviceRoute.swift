package import PushProtocol

/// What goes to one device, and when.
///
/// Pure: inputs in, actions out; times are arguments. It holds no payload of what waits: that is read when there is an
/// occasion for it. Whoever carries the actions out keeps their order: a load sees every store and removal that was
/// asked for before it.
package struct DeviceRoute: Sendable {
    /// A device that is here.
    struct Connection: Sendable {
        var number: UInt64
        var state: DeviceState
        var filters: [String: TopicFilter]
        /// What was sent and is not acknowledged.
        var sending: [PushID: Sent] = [:]
        var isLoading = false
        /// Asks for a further load behind the one that is under way.
        var next: Occasion?
        /// Acknowledged while a load was under way, which may still bring them.
        var acknowledged: Set<StoredPlace> = []
        /// Something was stored while a load was under way, which may not bring it.
        var mayMiss = false
        /// What could not be sent because too much was on its way.
        var backlog: Occasion?
        /// When what the device asks for is read, or was read last; of ``Moment/bootSeconds``.
        var asked: Double?
        /// What the device asks for too soon behind that, until its turn.
        var deferred: Occasion?
        /// A keep-alive is answered behind the load that is under way.
        var owesAnswer = false
        /// What was heard last of each place; see ``DeviceRoute/isNews(_:)``.
        var newest: [Place: Newest] = [:]
    }

    struct Sent: Sendable {
        /// Nil for one that has one attempt.
        var place: StoredPlace?
        var isFromStorage: Bool
        var company: DeliveryEvent.Company?
        /// Why it is not in storage any more.
        var loss: DeliveryEvent.Discard?
        /// Another push waits that has the same id, which providers choose: an acknowledgement names the id alone.
        var hasNamesake = false
    }

    /// Why something may be sent now that waited.
    package struct Occasion: Sendable, Hashable {
        /// With what it rides along; nil where only what has its turn may go.
        package var company: DeliveryEvent.Company?
        package var answersKeepAlive = false
        /// Topics whose held push has its turn, with the store's leave.
        package var claimed: Set<String> = []

        package init(
            company: DeliveryEvent.Company? = nil, answersKeepAlive: Bool = false, claimed: Set<String> = []
        ) {
            self.company = company
            self.answersKeepAlive = answersKeepAlive
            self.claimed = claimed
        }

        mutating func merge(_ other: Occasion) {
            company = company ?? other.company
            answersKeepAlive = answersKeepAlive || other.answersKeepAlive
            claimed.formUnion(other.claimed)
        }
    }

    /// What is done with a push that a provider sends.
    package enum Admission: Sendable, Hashable {
        case discard(DeliveryEvent.Discard)
        /// Send it, and never store it.
        case attempt
        /// Store it, with these words in its log, and then call ``DeviceRoute/committed(_:replaced:evicted:now:)``.
        case store(Slot, heldUntil: Int64?, DeliveryEvent?)
    }

    package enum Action: Sendable, Hashable {
        case send(Message, connection: UInt64)
        /// Read what is stored for the device, and call ``DeviceRoute/loaded(_:connection:occasion:_:now:)``.
        case load(connection: UInt64, Occasion)
        /// Take the push from storage if it is still this one, and write down why.
        case remove(StoredPlace, [DeliveryEvent])
        case log(PushID, DeliveryEvent)
        case answerKeepAlive(connection: UInt64)
        /// The device has connected anew.
        case supersede(connection: UInt64)
        /// Call ``DeviceRoute/turn(connection:)`` at this time, milliseconds since 1970.
        case wake(connection: UInt64, at: Int64)
        /// Ask the store whether one more silent push of this topic passes, and call
        /// ``DeviceRoute/claimed(_:connection:_:now:)``.
        case claim(topic: String, connection: UInt64)
    }

    /// Pushes that may be on their way to a device.
    package static let window = 64
    /// Seconds from one reading to the next for which the device asks, by keep-alives and changes, as often as it likes.
    package static let spacing = 5.0

    /// Whether other gateways store pushes for the device, too. Then the buckets are the store's, and what is stored is
    /// told by ``DeviceRoute/arrived(_:now:)``, in any order with what is loaded.
    let isShared: Bool
    var connection: Connection?
    private var buckets: [String: TokenBucket] = [:]
    /// Whether there may be stored pushes that are not on their way.
    var mayHaveWaiting = true

    package init(isShared: Bool = false) {
        self.isShared = isShared
    }

    package var isConnected: Bool { connection != nil }
    package var connectionNumber: UInt64? { connection?.number }

    /// Whether nothing is known of it that a new one would not know.
    package func isForgettable(_ settings: TokenBucket.Settings, now: Moment) -> Bool {
        connection == nil && buckets.values.allSatisfy { $0.isFull(settings, now: now.bootSeconds) }
    }

    // MARK: - Pushes

    /// What is done with `push`, which is valid and for this device.
    package mutating func admit(_ push: Push, _ settings: TokenBucket.Settings, now: Moment) -> Admission {
        if push.isExpired(now) { return .discard(.expired) }
        if connection?.filters[push.topic] == .ignored { return .discard(.disabled) }
        if push.isSilent, !isShared {
            var bucket = buckets[push.topic] ?? TokenBucket(settings, now: now.bootSeconds)
            let passes = bucket.take(settings, now: now.bootSeconds)
            buckets[push.topic] = bucket
            if !passes {
                guard push.lifetime != .once else { return .discard(.rateLimit) }
                let wait = bucket.wait(settings, now: now.bootSeconds)
                let until = now.wallMilliseconds + Int64((wait * 1_000).rounded(.up))
                return .store(.held, heldUntil: until, .held(until: until))
            }
        }
        let hindrance = hindrance(push)
        guard push.lifetime == .once else {
            return .store(push.slot(keepsEach: keepsEach(push.topic)), heldUntil: nil, hindrance)
        }
        switch hindrance {
        case nil: return .attempt
        case .storedOffline?: return .discard(.notConnected)
        case .storedPower? where push.priority > .whenAwake: return .attempt
        case .storedPower?: return .discard(.power)
        default: return .discard(.notNow)
        }
    }

    /// Whether each alert of `topic` is kept: the device is connected, and the topic is not paused. Otherwise only the newest alert
    /// of the topic is kept.
    package func keepsEach(_ topic: String) -> Bool {
        connection.map { $0.filters[topic] != .paused } ?? false
    }

    /// Why `push` would not go at once; nil where it would.
    func hindrance(_ push: Push) -> DeliveryEvent? {
        guard let connection else { return .storedOffline }
        switch connection.filters[push.topic] ?? .enabled {
        case .paused: return .storedPaused
        case .opportunistic: return .storedOpportunistic
        case .enabled, .ignored: break
        }
        let isWelcome =
            switch push.priority {
            case .immediate: true
            case .considerate: connection.state != .dozing
            case .whenAwake: connection.state == .active
            }
        return isWelcome ? nil : .storedPower
    }

    /// A push that has one attempt.
    package mutating func attempt(_ push: Push) -> [Action] {
        guard var connection else { return [.log(push.id, .discarded(.notConnected))] }
        guard connection.sending.count < 2 * Self.window, connection.sending[push.id] == nil else {
            return [.log(push.id, .discarded(.busy))]
        }
        connection.sending[push.id] = Sent(place: nil, isFromStorage: false, company: nil)
        self.connection = connection
        let send = Action.send(push.message(isFromStorage: false), connection: connection.number)
        guard !push.isSilent, mayHaveWaiting else { return [send] }
        return [send] + load(Occasion(company: .push(push.id)))
    }

    /// `stored` is on the disk, in the place of `replaced`; `evicted` made room for it.
    package mutating func committed(
        _ stored: StoredPush, replaced: [PushID], evicted: [PushID] = [], now: Moment
    ) -> [Action] {
        let losses =
            replaced.filter { $0 != stored.push.id }.map { ($0, DeliveryEvent.Discard.replaced(by: stored.push.id)) }
            + evicted.map { ($0, .evicted) }
        return losses.compactMap { lost($0, $1) } + committed(stored, now)
    }

    /// One that is on its way may still arrive; what became of it is known then.
    private mutating func lost(_ old: PushID, _ why: DeliveryEvent.Discard) -> Action? {
        guard connection?.sending[old] == nil else {
            connection?.sending[old]?.loss = why
            return nil
        }
        return .log(old, .discarded(why))
    }

    mutating func committed(_ stored: StoredPush, _ now: Moment) -> [Action] {
        guard let connection else {
            mayHaveWaiting = true
            return []
        }
        if stored.slot == .held || hindrance(stored.push) != nil {
            mayHaveWaiting = true
            if connection.isLoading { self.connection?.mayMiss = true }
            guard let until = stored.heldUntil else { return [] }
            return [.wake(connection: connection.number, at: until)]
        }
        // The disk may have taken its time.
        guard !stored.push.isExpired(now) else {
            return [.remove(stored.place, [.discarded(.expired)])]
        }
        let isOrdinary = !stored.push.isSilent
        let occasion = Occasion(company: isOrdinary ? .push(stored.push.id) : nil)
        guard connection.sending.count < Self.window else {
            // It is read when there is room for it.
            mayHaveWaiting = true
            if connection.isLoading { self.connection?.mayMiss = true }
            hasNoRoom(for: occasion)
            return []
        }
        if connection.isLoading || (isOrdinary && mayHaveWaiting) {
            mayHaveWaiting = true
            return load(occasion)
        }
        guard !waitsForNamesake(stored) else { return [] }
        return [send(stored, company: nil, isFromStorage: false)].compactMap(\.self)
    }

    /// Whether `stored` has to wait until a push of the same id is acknowledged that is on its way; or is on its way
    /// itself.
    private mutating func waitsForNamesake(_ stored: StoredPush) -> Bool {
        guard let sent = connection?.sending[stored.push.id] else { return false }
        if sent.place != stored.place {
            connection?.sending[stored.push.id]?.hasNamesake = true
            mayHaveWaiting = true
        }
        return true
    }

    private mutating func send(_ stored: StoredPush, company: DeliveryEvent.Company?, isFromStorage: Bool) -> Action? {
        guard let number = connection?.number else { return nil }
        connection?.sending[stored.push.id] = Sent(
            place: stored.place, isFromStorage: isFromStorage, company: company)
        return .send(stored.push.message(isFromStorage: isFromStorage), connection: number)
    }

    private mutating func hasNoRoom(for occasion: Occasion) {
        if connection?.backlog?.merge(occasion) == nil { connection?.backlog = occasion }
    }

    /// Reads what waits because the device asks for it: at once, or, behind a reading that is not long ago, together
    /// with all that it asks for until then. A keep-alive is answered at once all the same.
    private mutating func ask(_ occasion: Occasion, now: Moment) -> [Action] {
        guard let connection else { return [] }
        guard let asked = connection.asked, now.bootSeconds < asked + Self.spacing else {
            var occasion = occasion
            if let deferred = connection.deferred { occasion.merge(deferred) }
            self.connection?.deferred = nil
            self.connection?.asked = now.bootSeconds
            return load(occasion)
        }
        var actions: [Action] = []
        if occasion.answersKeepAlive {
            if connection.isLoading {
                self.connection?.owesAnswer = true
            } else {
                actions.append(.answerKeepAlive(connection: connection.number))
            }
        }
        var later = occasion
        later.answersKeepAlive = false
        guard connection.deferred == nil else {
            self.connection?.deferred?.merge(later)
            return actions
        }
        self.connection?.deferred = later
        self.connection?.asked = asked + Self.spacing
        let wait = Int64(((asked + Self.spacing - now.bootSeconds) * 1_000).rounded())
        return actions + [.wake(connection: connection.number, at: now.wallMilliseconds + wait)]
    }

    mutating func load(_ occasion: Occasion) -> [Action] {
        guard let number = connection?.number, connection?.isLoading == false else {
            if connection?.next?.merge(occasion) == nil { connection?.next = occasion }
            return []
        }
        connection?.isLoading = true
        return [.load(connection: number, occasion)]
    }

    /// What is stored for the device, in any order.
    package mutating func loaded(
        _ rows: [StoredPush], connection number: UInt64, occasion: Occasion, _ settings: TokenBucket.Settings,
        now: Moment
    ) -> [Action] {
        guard connection?.number == number else { return [] }
        var actions: [Action] = []
        var due: Int64?
        mayHaveWaiting = connection?.mayMiss ?? false
        connection?.mayMiss = false
        let acknowledged = connection?.acknowledged ?? []
        if isShared { for row in rows { noteSilent(row) } }
        let rows = StoredPush.inOrder(rows)
        // What waits goes before an alert that goes at once, as when that is stored.
        let company = occasion.company ?? rows.first { goesByItself($0, now) }.map { .push($0.push.id) }
        for row in rows {
            let push = row.push
            if isShared, !isNews(row) {
                // A gateway that died may have left a held one behind whose place was taken.
                if row.slot == .held { actions.append(.remove(row.place, [])) }
                continue
            }
            if acknowledged.contains(row.place) || connection?.sending[push.id]?.place == row.place { continue }
            if push.isExpired(now) {
                actions.append(.remove(row.place, [.discarded(.expired)]))
                continue
            }
            switch connection?.filters[push.topic] {
            case .ignored?:
                actions.append(.remove(row.place, [.discarded(.disabled)]))
                continue
            case .paused?:
                mayHaveWaiting = true
                continue
            default: break
            }
            let heldUntil = row.slot == .held ? row.heldUntil ?? 0 : 0
            let isItself = occasion.company == .push(push.id)
            let waits = heldUntil > now.wallMilliseconds || hindrance(push) != nil
            if waits && company == nil {
                mayHaveWaiting = true
                if heldUntil > now.wallMilliseconds { due = min(due ?? heldUntil, heldUntil) }
                continue
            }
            if waitsForNamesake(row) { continue }
            // Another gateway may let one pass at this very moment: the store says which of the two it is.
            let hasItsTurn = row.slot == .held && !waits
            if isShared, hasItsTurn, company == nil, !occasion.claimed.contains(push.topic) {
                mayHaveWaiting = true
                actions.append(.claim(topic: push.topic, connection: number))
                continue
            }
            guard (connection?.sending.count ?? 0) < Self.window else {
                mayHaveWaiting = true
                hasNoRoom(for: occasion)
                continue
            }
            let ridesWith = waits || (isShared && hasItsTurn) ? company : nil
            // One that has its turn counts as one that passes; what rides along is free.
            if row.slot == .held, ridesWith == nil { _ = buckets[push.topic]?.take(settings, now: now.bootSeconds) }
            let isFromStorage = !isItself || row.slot == .held
            if let send = send(row, company: ridesWith, isFromStorage: isFromStorage) { actions.append(send) }
        }
        if let due { actions.append(.wake(connection: number, at: due)) }
        if occasion.answersKeepAlive || connection?.owesAnswer == true {
            actions.append(.answerKeepAlive(connection: number))
        }
        connection?.owesAnswer = false
        connection?.isLoading = false
        connection?.acknowledged = []
        connection?.backlog?.answersKeepAlive = false
        if let next = connection?.next {
            connection?.next = nil
            actions += load(next)
        }
        return actions
    }

    /// Whether a row is an alert that nothing keeps from being sent.
    private func goesByItself(_ row: StoredPush, _ now: Moment) -> Bool {
        guard !row.push.isSilent, !row.push.isExpired(now), let connection else { return false }
        return connection.filters[row.push.topic] != .ignored && hindrance(row.push) == nil
            && !connection.acknowledged.contains(row.place) && connection.sending[row.push.id] == nil
    }

    // MARK: - The device

    package mutating func connected(
        _ number: UInt64, _ state: DeviceState, _ topics: [TopicChoice]
    ) -> [Action] {
        var actions: [Action] = []
        if let old = connection {
            actions = disconnected(old.number) + [.supersede(connection: old.number)]
        }
        connection = Connection(number: number, state: state, filters: Self.filters(topics))
        return actions + load(Occasion(company: .connect))
    }

    private static func filters(_ topics: [TopicChoice]) -> [String: TopicFilter] {
        Dictionary(topics.map { ($0.topic, $0.filter) }, uniquingKeysWith: { $1 })
    }

    package mutating func disconnected(_ number: UInt64) -> [Action] {
        guard let old = connection, old.number == number else { return [] }
        connection = nil
        mayHaveWaiting = true
        return old.sending.map { id, sent in
            let stored: DeliveryEvent = sent.loss.map { .discarded($0) } ?? .storedOffline
            return .log(id, sent.place != nil ? stored : .discarded(.connectionEnded))
        }
    }

    /// The device has the push on its disk.
    package mutating func acknowledged(_ id: PushID, connection number: UInt64) -> [Action] {
        guard connection?.number == number, let sent = connection?.sending.removeValue(forKey: id) else { return [] }
        let words: [DeliveryEvent] =
            (sent.company.map { [.rodeAlong($0)] } ?? []) + [sent.isFromStorage ? .deliveredFromStorage : .delivered]
        var actions: [Action] = []
        if let place = sent.place {
            if connection?.isLoading == true { connection?.acknowledged.insert(place) }
            if isShared { finished(place) }
            actions.append(.remove(place, words))
        } else {
            actions += words.map { .log(id, $0) }
        }
        if sent.hasNamesake { actions += load(Occasion()) }
        if let backlog = connection?.backlog, (connection?.sending.count ?? 0) <= Self.window / 2 {
            connection?.backlog = nil
            actions += load(backlog)
        }
        return actions
    }

    /// The device has kept its connection alive: what waits goes before the answer.
    package mutating func keptAlive(connection number: UInt64, now: Moment) -> [Action] {
        guard let connection, connection.number == number else { return [] }
        // What other gateways store is told, but a network may lose it: it is read once in a while all the same.
        guard mayHaveWaiting || connection.isLoading || isShared else { return [.answerKeepAlive(connection: number)] }
        return ask(Occasion(company: .keepAlive, answersKeepAlive: true), now: now)
    }

    package mutating func changed(state: DeviceState, connection number: UInt64, now: Moment) -> [Action] {
        guard connection?.number == number, connection?.state != state else { return [] }
        connection?.state = state
        return mayHaveWaiting ? ask(Occasion(), now: now) : []
    }

    package mutating func changed(topics: [TopicChoice], connection number: UInt64, now: Moment) -> [Action] {
        guard connection?.number == number else { return [] }
        let filters = Self.filters(topics)
        guard connection?.filters != filters else { return [] }
        connection?.filters = filters
        return mayHaveWaiting ? ask(Occasion(), now: now) : []
    }

    /// A held push may have its turn, or what the device asked for too soon.
    package mutating func turn(connection number: UInt64) -> [Action] {
        guard connection?.number == number else { return [] }
        let deferred = connection?.deferred
        guard mayHaveWaiting || deferred != nil else { return [] }
        connection?.deferred = nil
        return load(deferred ?? Occasion())
    }
}
