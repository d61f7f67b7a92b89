import PushProtocol

/// The routing decisions for a store that several gateways share. One gateway stores a push, and its device may be
/// connected to another gateway.
extension DeviceRoute {
    /// A place of a topic in storage, with or without a stored push.
    struct Place: Hashable {
        var topic: String
        var slot: Slot

        fileprivate var rank: Int {
            slot.isUnique ? 0 : 1
        }
    }

    struct Newest {
        var sequence: Int64
        /// Whether the device has acknowledged the push, or the push was discarded.
        var isOver: Bool
    }

    /// The maximum number of places whose newest push is remembered. Beyond it, the oldest places are forgotten first.
    private static let placeLimit = 256

    /// Decides how a gateway handles a push whose device may be connected to another gateway.
    ///
    /// - Parameters:
    ///   - verdict: the verdict of the store's bucket; nil for a push without a limit.
    ///   - keepsEach: the result of ``keepsEach(_:)`` at the gateway to which the device is connected.
    package static func forward(
        _ push: Push, _ verdict: TokenBucket.Verdict?, keepsEach: Bool, now: RouteTime
    ) -> Admission {
        if push.isExpired(now) { return .discard(.expired) }
        if case .waits(let wait)? = verdict {
            guard push.lifetime != .once else { return .discard(.rateLimit) }
            let until = now.wallMilliseconds + Int64((wait * 1_000).rounded(.up))
            return .store(.held, heldUntil: until, .held(until: until))
        }
        return push.lifetime == .once ? .attempt : .store(push.slot(keepsEach: keepsEach), heldUntil: nil, nil)
    }

    /// Handles another gateway's request to deliver a push that has only one attempt.
    package mutating func offered(
        _ push: Push, _ settings: TokenBucket.Settings, now: RouteTime
    ) -> (actions: [Action], discard: DeliveryEvent.Discard?) {
        switch admit(push, settings, now: now) {
        case .discard(let why): ([], why)
        case .attempt: (attempt(push), nil)
        case .store: ([], .notNow)
        }
    }

    /// Handles the report that `stored` is in the store. The report may arrive twice or late, or after the report of a
    /// push that replaced `stored`.
    package mutating func arrived(_ stored: QueuedPush, now: RouteTime) -> [Action] {
        guard let connection, isNews(stored), connection.sending[stored.push.id]?.place != stored.place else {
            return []
        }
        noteSilent(stored)
        for (id, sent) in connection.sending {
            guard let place = sent.place, place.topic == stored.push.topic, place.slot == stored.slot else { continue }
            self.connection?.sending[id]?.loss = .replaced(by: stored.push.id)
        }
        if connection.filters[stored.push.topic] == .ignored {
            finished(stored.place)
            return [.remove(stored.place, [.discarded(.disabled)])]
        }
        let hindrance = stored.slot == .held ? nil : hindrance(stored.push)
        return (hindrance.map { [.log(stored.push.id, $0)] } ?? []) + committed(stored, now)
    }

    /// Loads the stored pushes again, because reports of the store may have been missed.
    package mutating func recheck() -> [Action] {
        guard connection != nil else { return [] }
        mayHaveWaiting = true
        return load(Occasion())
    }

    /// Handles the store's verdict on whether the held push of `topic` passes now.
    package mutating func claimed(
        _ topic: String, connection number: UInt64, _ verdict: TokenBucket.Verdict, now: RouteTime
    ) -> [Action] {
        guard connection?.number == number else { return [] }
        switch verdict {
        case .passes: return load(Occasion(claimed: [topic]))
        case .waits(let wait):
            // Another silent push used the token first, so try again later.
            return [.wake(connection: number, at: now.wallMilliseconds + Int64((wait * 1_000).rounded(.up)))]
        }
    }

    /// Returns whether `stored` is unfinished, and at least as recent as the newest known push of its place.
    mutating func isNews(_ stored: QueuedPush) -> Bool {
        let place = Place(topic: stored.push.topic, slot: stored.slot)
        // A unique place never receives a newer push, so only finished pushes of unique places are remembered.
        if stored.slot.isUnique { return connection?.newest[place] == nil }
        if let newest = connection?.newest[place] {
            if stored.sequence < newest.sequence || (stored.sequence == newest.sequence && newest.isOver) {
                return false
            }
        }
        note(place, Newest(sequence: stored.sequence, isOver: false))
        return true
    }

    /// Records that an accepted silent push replaces the push that was held before it.
    mutating func noteSilent(_ stored: QueuedPush) {
        guard stored.slot == .silent else { return }
        let held = Place(topic: stored.push.topic, slot: .held)
        if let newest = connection?.newest[held], newest.sequence > stored.sequence { return }
        note(held, Newest(sequence: stored.sequence, isOver: true))
    }

    mutating func finished(_ stored: StoredPlace) {
        let place = Place(topic: stored.topic, slot: stored.slot)
        if stored.slot.isUnique { return note(place, Newest(sequence: stored.sequence, isOver: true)) }
        guard connection?.newest[place]?.sequence == stored.sequence else { return }
        connection?.newest[place]?.isOver = true
    }

    private mutating func note(_ place: Place, _ newest: Newest) {
        if let count = connection?.newest.count, count >= Self.placeLimit, connection?.newest[place] == nil {
            // Forget unique places first. Other places could receive an older push again.
            let oldest = connection?.newest.min { ($0.key.rank, $0.value.sequence) < ($1.key.rank, $1.value.sequence) }?
                .key
            if let oldest { connection?.newest[oldest] = nil }
        }
        connection?.newest[place] = newest
    }
}
