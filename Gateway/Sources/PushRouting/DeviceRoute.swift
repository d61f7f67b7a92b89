package import PushProtocol

/// The decisions about which pushes are sent to one device, and when.
///
/// The type is a pure value: it receives inputs and times as arguments, and returns actions. It does not store the
/// payloads of waiting pushes. The store is read when waiting pushes may be sent. The caller must execute the actions
/// in order: a load must see every store and removal that was requested before it.
package struct DeviceRoute: Sendable {
    /// The connection of a device.
    struct Connection: Sendable {
        var number: UInt64
        var state: ReportedActivity
        var filters: [String: TopicFilter]
        /// The pushes that were sent and are not yet acknowledged.
        var sending: [PushID: Sent] = [:]
        var isLoading = false
        /// The occasion of the next load, which starts when the current load ends.
        var next: Occasion?
        /// The pushes that were acknowledged during the current load. The result of the load may still contain them.
        var acknowledged: Set<StoredPlace> = []
        /// Whether a push was stored during the current load. The result of the load may lack that push.
        var mayMiss = false
        /// The occasion of pushes that could not be sent because too many were unacknowledged.
        var backlog: Occasion?
        /// The time of the device's last requested load. If a load is deferred, the time of that load. In
        /// ``RouteTime/bootSeconds``.
        var asked: Double?
        /// The occasion of requests that were deferred, because they came less than ``DeviceRoute/spacing`` after that
        /// load.
        var deferred: Occasion?
        /// Whether a keep-alive must be answered when the current load ends.
        var owesAnswer = false
        /// The newest known push of each place; see ``DeviceRoute/isNews(_:)``.
        var newest: [Place: Newest] = [:]
    }

    struct Sent: Sendable {
        /// The push's place in storage; nil for a push that has only one attempt.
        var place: StoredPlace?
        var isFromStorage: Bool
        var company: DeliveryEvent.Company?
        /// The reason for which the push was removed from storage; nil if it was not removed.
        var loss: DeliveryEvent.Discard?
        /// Whether another push with the same id is waiting. This is possible because providers choose ids. An
        /// acknowledgement contains only the id.
        var hasNamesake = false
    }

    /// The reason for which waiting pushes may be sent now.
    package struct Occasion: Sendable, Hashable {
        /// The traffic with which waiting pushes may be sent; nil if only pushes that are due may be sent.
        package var company: DeliveryEvent.Company?
        package var answersKeepAlive = false
        /// The topics whose held push is due and is permitted by the store.
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

    /// The decision on a push that a provider sends.
    package enum Admission: Sendable, Hashable {
        case discard(DeliveryEvent.Discard)
        /// The decision to send the push without storing it.
        case attempt
        /// The decision to store the push and log the event. The caller then calls
        /// ``DeviceRoute/committed(_:replaced:evicted:now:)``.
        case store(Slot, heldUntil: Int64?, DeliveryEvent?)
    }

    package enum Action: Sendable, Hashable {
        case send(Message, connection: UInt64)
        /// The action that reads the device's stored pushes and calls
        /// ``DeviceRoute/loaded(_:connection:occasion:_:now:)``.
        case load(connection: UInt64, Occasion)
        /// The action that removes the push from storage if it has not been replaced, and logs the events.
        case remove(StoredPlace, [DeliveryEvent])
        case log(PushID, DeliveryEvent)
        case answerKeepAlive(connection: UInt64)
        /// The action that closes the connection because the device has opened a new one.
        case supersede(connection: UInt64)
        /// The action that calls ``DeviceRoute/turn(connection:)`` at this time, in milliseconds since 1970.
        case wake(connection: UInt64, at: Int64)
        /// The action that asks the store whether it permits one more silent push of this topic, and calls
        /// ``DeviceRoute/claimed(_:connection:_:now:)``.
        case claim(topic: String, connection: UInt64)
    }

    /// The number of unacknowledged pushes to a device at which stored pushes have to wait.
    package static let window = 64
    /// The minimum time between two loads that keep-alives and changes of the device request, in seconds.
    package static let spacing = 5.0

    /// Whether other gateways also store pushes for the device. If so, the buckets are in the store.
    /// ``DeviceRoute/arrived(_:now:)`` then reports stored pushes, before or after the loads that contain them.
    let isShared: Bool
    var connection: Connection?
    private var buckets: [String: TokenBucket] = [:]
    /// Whether the store may contain pushes that have not been sent.
    var mayHaveWaiting = true

    package init(isShared: Bool = false) {
        self.isShared = isShared
    }

    package var isConnected: Bool { connection != nil }
    package var connectionNumber: UInt64? { connection?.number }

    /// Returns whether a new route would make the same decisions, so that this route can be discarded.
    package func isForgettable(_ settings: TokenBucket.Settings, now: RouteTime) -> Bool {
        connection == nil && buckets.values.allSatisfy { $0.isFull(settings, now: now.bootSeconds) }
    }

    // MARK: - Pushes

    /// Decides whether to send, store or discard `push`, which is valid and addressed to this device.
    package mutating func admit(_ push: Push, _ settings: TokenBucket.Settings, now: RouteTime) -> Admission {
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

    /// Returns whether each alert of `topic` is kept. It is if the device is connected and the topic is not paused.
    /// Otherwise only the newest alert of the topic is kept.
    package func keepsEach(_ topic: String) -> Bool {
        connection.map { $0.filters[topic] != .paused } ?? false
    }

    /// Returns the reason for which `push` cannot be sent immediately; nil if it can be sent.
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

    /// Sends a push that has only one attempt.
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

    /// Handles the commit of `stored`, which replaced the pushes in `replaced`. The pushes in `evicted` were removed to
    /// make room.
    package mutating func committed(
        _ stored: QueuedPush, replaced: [PushID], evicted: [PushID] = [], now: RouteTime
    ) -> [Action] {
        let losses =
            replaced.filter { $0 != stored.push.id }.map { ($0, DeliveryEvent.Discard.replaced(by: stored.push.id)) }
            + evicted.map { ($0, .evicted) }
        return losses.compactMap { lost($0, $1) } + committed(stored, now)
    }

    /// Returns the action that logs the removal of a push. An unacknowledged push may still arrive, so its outcome is
    /// logged later.
    private mutating func lost(_ old: PushID, _ why: DeliveryEvent.Discard) -> Action? {
        guard connection?.sending[old] == nil else {
            connection?.sending[old]?.loss = why
            return nil
        }
        return .log(old, .discarded(why))
    }

    mutating func committed(_ stored: QueuedPush, _ now: RouteTime) -> [Action] {
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
        // The push may have expired while it was written.
        guard !stored.push.isExpired(now) else {
            return [.remove(stored.place, [.discarded(.expired)])]
        }
        let isOrdinary = !stored.push.isSilent
        let occasion = Occasion(company: isOrdinary ? .push(stored.push.id) : nil)
        guard connection.sending.count < Self.window else {
            // Too many pushes are unacknowledged, so load this push later.
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

    /// Returns whether `stored` must wait, because it was already sent or a push with the same id is unacknowledged.
    private mutating func waitsForNamesake(_ stored: QueuedPush) -> Bool {
        guard let sent = connection?.sending[stored.push.id] else { return false }
        if sent.place != stored.place {
            connection?.sending[stored.push.id]?.hasNamesake = true
            mayHaveWaiting = true
        }
        return true
    }

    private mutating func send(_ stored: QueuedPush, company: DeliveryEvent.Company?, isFromStorage: Bool) -> Action? {
        guard let number = connection?.number else { return nil }
        connection?.sending[stored.push.id] = Sent(
            place: stored.place, isFromStorage: isFromStorage, company: company)
        return .send(stored.push.message(isFromStorage: isFromStorage), connection: number)
    }

    private mutating func hasNoRoom(for occasion: Occasion) {
        if connection?.backlog?.merge(occasion) == nil { connection?.backlog = occasion }
    }

    /// Loads waiting pushes at the device's request. If the last load is recent, the load is deferred, and covers all
    /// requests until then. A keep-alive is answered without waiting for a deferred load.
    private mutating func ask(_ occasion: Occasion, now: RouteTime) -> [Action] {
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

    /// Handles the result of a load: the pushes stored for the device, in any order.
    package mutating func loaded(
        _ rows: [QueuedPush], connection number: UInt64, occasion: Occasion, _ settings: TokenBucket.Settings,
        now: RouteTime
    ) -> [Action] {
        guard connection?.number == number else { return [] }
        var actions: [Action] = []
        var due: Int64?
        mayHaveWaiting = connection?.mayMiss ?? false
        connection?.mayMiss = false
        let acknowledged = connection?.acknowledged ?? []
        if isShared { for row in rows { noteSilent(row) } }
        let rows = QueuedPush.inOrder(rows)
        // Waiting pushes are sent together with an alert that can be sent at once, as when an alert is stored.
        let company = occasion.company ?? rows.first { goesByItself($0, now) }.map { .push($0.push.id) }
        for row in rows {
            let push = row.push
            if isShared, !isNews(row) {
                // A gateway that crashed may have left a held push that was already replaced. Remove that push.
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
            // Another gateway may release the held push at the same time. The store decides which gateway sends it.
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
            // A held push that is due uses a token of its bucket. A push sent along with other traffic uses none.
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

    /// Returns whether a stored push is an alert that can be sent immediately.
    private func goesByItself(_ row: QueuedPush, _ now: RouteTime) -> Bool {
        guard !row.push.isSilent, !row.push.isExpired(now), let connection else { return false }
        return connection.filters[row.push.topic] != .ignored && hindrance(row.push) == nil
            && !connection.acknowledged.contains(row.place) && connection.sending[row.push.id] == nil
    }

    // MARK: - The device

    package mutating func connected(
        _ number: UInt64, _ state: ReportedActivity, _ topics: [TopicChoice]
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

    /// Handles the device's acknowledgement that it has stored the push on its disk.
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

    /// Handles a keep-alive of the device. Waiting pushes are sent before the answer to the keep-alive.
    package mutating func keptAlive(connection number: UInt64, now: RouteTime) -> [Action] {
        guard let connection, connection.number == number else { return [] }
        // Reports of pushes that other gateways stored may be lost in the network, so read a shared store at each
        // keep-alive.
        guard mayHaveWaiting || connection.isLoading || isShared else { return [.answerKeepAlive(connection: number)] }
        return ask(Occasion(company: .keepAlive, answersKeepAlive: true), now: now)
    }

    package mutating func changed(state: ReportedActivity, connection number: UInt64, now: RouteTime) -> [Action] {
        guard connection?.number == number, connection?.state != state else { return [] }
        connection?.state = state
        return mayHaveWaiting ? ask(Occasion(), now: now) : []
    }

    package mutating func changed(topics: [TopicChoice], connection number: UInt64, now: RouteTime) -> [Action] {
        guard connection?.number == number else { return [] }
        let filters = Self.filters(topics)
        guard connection?.filters != filters else { return [] }
        connection?.filters = filters
        return mayHaveWaiting ? ask(Occasion(), now: now) : []
    }

    /// Loads pushes if a held push may be due, or if a deferred request is due.
    package mutating func turn(connection number: UInt64) -> [Action] {
        guard connection?.number == number else { return [] }
        let deferred = connection?.deferred
        guard mayHaveWaiting || deferred != nil else { return [] }
        connection?.deferred = nil
        return load(deferred ?? Occasion())
    }
}
