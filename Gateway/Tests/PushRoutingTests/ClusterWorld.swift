import PushProtocol
import PushRouting

/// Two gateways with one store, and a device that moves between them. Reports, answers and sent messages may overtake
/// each other. Any gateway may crash, and its reports may be lost.
struct ClusterWorld {
    enum Operation {
        case store(Push, Slot, heldUntil: Int64?)
        case removeHeld(topic: String, before: Int64)
        case remove(StoredPlace)
        /// Reads one slot after another, and messages of UnifiedPush in order, while other tasks write.
        ///
        /// `behind` is the sequence of the last message that was read, or nil when all messages have been read.
        case load(
            UInt64, DeviceRoute.Occasion, left: [RoutingWorld.Place], behind: Int64?, rows: [QueuedPush])
        case claim(String, UInt64)
    }

    enum Told {
        case arrived(QueuedPush)
        case loaded([QueuedPush], UInt64, DeviceRoute.Occasion)
        case claimed(String, UInt64, TokenBucket.Verdict)
        /// The report that the store has recorded a connection under this number.
        case here(Int64)
    }

    struct Node {
        var route = DeviceRoute(isShared: true)
        /// The operations that this gateway has requested from the store.
        var asked: [Operation] = []
        var answers: [Told] = []
        /// The reports by the store. They are ordered among themselves, but not relative to answers.
        var news: [Told] = []
        var connection: UInt64?
        var epoch: Int64?
        var hasMissed = false
    }

    var random: Seeded
    var seconds = 0.0
    let settings = TokenBucket.Settings.standard
    var nodes = [Node(), Node()]
    var disk: [RoutingWorld.Place: QueuedPush] = [:]
    var lastSequence: Int64 = 0
    var lastEpoch: Int64 = 0
    var buckets: [String: TokenBucket] = [:]
    var passed: [String: Int] = [:]

    /// The gateway to which the device believes it is connected.
    var home: Int?
    var lastConnection: UInt64 = 0
    var toDevice: [Message] = []
    var toGateway: [Frame] = []
    var nextPush: UInt64 = 1
    var state = ReportedActivity.active
    var filters: [TopicChoice] = []

    var accepted: Set<PushID> = []
    var superseded: Set<PushID> = []
    /// The alerts that came while the device was connected. Each one must arrive, in order.
    var promised: Set<PushID> = []
    var lastArrived: [String: Int64] = [:]
    var dropped: Set<PushID> = []
    var written: Set<PushID> = []
    var sequences: [PushID: (RoutingWorld.Place, Int64)] = [:]
    var sentOnConnection: Set<PushID> = []
    var highestSent: [RoutingWorld.Place: Int64] = [:]
    var faults: [String] = []

    init(seed: UInt64) {
        random = Seeded(seed)
    }

    var now: RouteTime { .at(seconds) }
    var lost: Set<PushID> { accepted.subtracting(written).subtracting(superseded).subtracting(dropped) }

    // MARK: - Effects

    mutating func apply(_ actions: [DeviceRoute.Action], _ index: Int) {
        for action in actions {
            switch action {
            case .send(let message, let number): send(message, number, index)
            case .load(let number, let occasion):
                let places = RoutingWorld.topics.flatMap { topic in
                    [Slot.latest, .silent, .held].map { RoutingWorld.Place(topic: topic, slot: $0) }
                }
                nodes[index].asked.append(
                    .load(number, occasion, left: places.shuffled(using: &random), behind: 0, rows: []))
            case .remove(let place, let words):
                nodes[index].asked.append(.remove(place))
                if words.contains(.discarded(.disabled)) || words.contains(.discarded(.expired)) {
                    dropped.insert(place.id)
                }
            case .claim(let topic, let number): nodes[index].asked.append(.claim(topic, number))
            case .log, .answerKeepAlive, .supersede, .wake: break
            }
        }
    }

    mutating func send(_ message: Message, _ number: UInt64, _ index: Int) {
        guard index == home, number == lastConnection else { return }
        if let expiry = message.expiry, expiry <= now.wallSeconds { faults.append("after its expiry: \(message.id)") }
        if !sentOnConnection.insert(message.id).inserted { faults.append("sent twice: \(message.id)") }
        if let (place, sequence) = sequences[message.id] {
            if sequence < highestSent[place] ?? 0 { faults.append("after a newer one: \(message.id)") }
            highestSent[place] = sequence
        }
        toDevice.append(message)
    }

    // MARK: - The store

    /// Makes the store execute one of a gateway's requests, in any order.
    mutating func work(_ index: Int) {
        guard !nodes[index].asked.isEmpty else { return }
        let place = Int.random(in: 0..<nodes[index].asked.count, using: &random)
        switch nodes[index].asked.remove(at: place) {
        case .store(let push, let slot, let heldUntil):
            lastSequence += 1
            let stored = push.stored(slot, sequence: lastSequence, heldUntil: heldUntil)
            let place = RoutingWorld.Place(topic: push.topic, slot: slot)
            sequences[push.id] = (place, lastSequence)
            if let old = disk.updateValue(stored, forKey: place) {
                superseded.insert(old.push.id)
                if promised.contains(old.push.id) { faults.append("replaced, and promised: \(old.push.id)") }
            }
            accepted.insert(push.id)
            for other in nodes.indices where nodes[other].connection != nil {
                nodes[other].news.append(.arrived(stored))
            }
            if slot == .silent {
                for (id, (place, sequence)) in sequences
                where place.topic == push.topic && place.slot == .held && sequence < lastSequence {
                    superseded.insert(id)
                }
                nodes[index].asked.append(.removeHeld(topic: push.topic, before: lastSequence))
            }
        case .removeHeld(let topic, let before):
            let place = RoutingWorld.Place(topic: topic, slot: .held)
            if let held = disk[place], held.sequence < before { disk[place] = nil }
        case .remove(let stored):
            let place = RoutingWorld.Place(topic: stored.topic, slot: stored.slot)
            if disk[place]?.sequence == stored.sequence { disk[place] = nil }
        case .load(let number, let occasion, var left, var behind, var rows):
            if let last = behind, left.isEmpty || Bool.random(using: &random) {
                let next = disk.values.filter { $0.slot.isKept && $0.sequence > last }
                    .min { $0.sequence < $1.sequence }
                if let next { rows.append(next) }
                behind = next?.sequence
            } else if let row = left.popLast().flatMap({ disk[$0] }) {
                rows.append(row)
            }
            if left.isEmpty, behind == nil {
                nodes[index].answers.append(.loaded(rows, number, occasion))
            } else {
                nodes[index].asked.append(.load(number, occasion, left: left, behind: behind, rows: rows))
            }
        case .claim(let topic, let number):
            nodes[index].answers.append(.claimed(topic, number, take(topic)))
        }
    }

    mutating func take(_ topic: String) -> TokenBucket.Verdict {
        var bucket = buckets[topic] ?? TokenBucket(settings, now: seconds)
        guard bucket.take(settings, now: seconds) else { return .waits(bucket.wait(settings, now: seconds)) }
        buckets[topic] = bucket
        passed[topic, default: 0] += 1
        return .passes
    }

    /// Delivers an answer or a report to a gateway.
    mutating func hear(_ index: Int) {
        let isNews = nodes[index].answers.isEmpty || Bool.random(using: &random)
        let told: Told
        if isNews {
            guard !nodes[index].news.isEmpty else { return }
            told = nodes[index].news.removeFirst()
        } else {
            let place = Int.random(in: 0..<nodes[index].answers.count, using: &random)
            told = nodes[index].answers.remove(at: place)
        }
        switch told {
        case .arrived(let stored): apply(nodes[index].route.arrived(stored, now: now), index)
        case .loaded(let rows, let number, let occasion):
            apply(
                nodes[index].route.loaded(rows, connection: number, occasion: occasion, settings, now: now), index)
        case .claimed(let topic, let number, let verdict):
            apply(nodes[index].route.claimed(topic, connection: number, verdict, now: now), index)
        case .here(let epoch): if let own = nodes[index].epoch, epoch > own { lose(index) }
        }
    }

    /// Ends a gateway's connection to the device.
    mutating func lose(_ index: Int) {
        guard let number = nodes[index].connection else { return }
        nodes[index].connection = nil
        nodes[index].epoch = nil
        nodes[index].news = []
        if home == index {
            home = nil
            toDevice = []
            toGateway = []
        }
        apply(nodes[index].route.disconnected(number), index)
    }

    // MARK: - Steps

    mutating func push() {
        if Int.random(in: 0..<4, using: &random) == 0 { return message() }
        let index = Int.random(in: 0..<2, using: &random)
        let isSilent = Int.random(in: 0..<3, using: &random) == 0
        let life: Push.Lifetime =
            Int.random(in: 0..<4, using: &random) == 0
            ? .until(now.wallSeconds + Int64.random(in: 1...600, using: &random)) : .until(now.wallSeconds + 1_000_000)
        let push = Push.sample(
            nextPush, topic: RoutingWorld.topics.randomElement(using: &random) ?? "a", lifetime: life,
            priority: isSilent ? .considerate : PushPriority.allCases.randomElement(using: &random) ?? .immediate,
            isSilent: isSilent, at: seconds)
        nextPush += 1
        let keepsEach = home.map { nodes[$0].route.keepsEach(push.topic) } ?? false
        if keepsEach, !isSilent { promised.insert(push.id) }
        switch DeviceRoute.forward(push, isSilent ? take(push.topic) : nil, keepsEach: keepsEach, now: now) {
        case .store(let slot, let heldUntil, _): nodes[index].asked.append(.store(push, slot, heldUntil: heldUntil))
        case .discard, .attempt: faults.append("not stored: \(push.id)")
        }
    }

    /// Sends a message of UnifiedPush. The message has a slot of its own, or replaces the last one of its topic.
    mutating func message() {
        var push = Push.sample(
            nextPush, topic: "u", lifetime: .until(now.wallSeconds + 1_000_000),
            priority: PushPriority.allCases.randomElement(using: &random) ?? .immediate, at: seconds)
        nextPush += 1
        push.type = .unifiedpush
        push.collapseID = Int.random(in: 0..<3, using: &random) == 0 ? "n" : nil
        guard case .store(let slot, nil, nil) = DeviceRoute.forward(push, nil, keepsEach: false, now: now), slot.isKept
        else {
            return faults.append("not stored: \(push.id)")
        }
        nodes[Int.random(in: 0..<2, using: &random)].asked.append(.store(push, slot, heldUntil: nil))
    }

    mutating func connect(_ index: Int) {
        // The new connection starts without knowledge of how this gateway's older connection ended.
        lastConnection += 1
        lastEpoch += 1
        home = index
        nodes[index].connection = lastConnection
        nodes[index].epoch = lastEpoch
        toDevice = []
        toGateway = []
        sentOnConnection = []
        highestSent = [:]
        for other in nodes.indices where nodes[other].connection != nil { nodes[other].news.append(.here(lastEpoch)) }
        apply(nodes[index].route.connected(lastConnection, state, filters), index)
    }

    mutating func crash(_ index: Int) {
        if home == index { home = nil }
        // The store may or may not execute the gateway's pending requests.
        while !nodes[index].asked.isEmpty, Bool.random(using: &random) { work(index) }
        nodes[index] = Node()
    }

    /// Discards a gateway's reports, and informs the gateway of a possible loss.
    mutating func miss(_ index: Int) {
        nodes[index].news = []
        nodes[index].hasMissed = true
    }

    mutating func recheck(_ index: Int) {
        guard nodes[index].hasMissed else { return }
        nodes[index].hasMissed = false
        apply(nodes[index].route.recheck(), index)
        nodes[index].news.append(.here(lastEpoch))
    }

    mutating func device() {
        if !toDevice.isEmpty {
            let message = toDevice.removeFirst()
            let isFirst = written.insert(message.id).inserted
            if isFirst, promised.contains(message.id), let (_, sequence) = sequences[message.id] {
                if sequence < lastArrived[message.topic] ?? 0 { faults.append("after a newer one: \(message.id)") }
                lastArrived[message.topic] = sequence
            }
            toGateway.append(.acknowledge(message.id))
        }
        guard let home, let number = nodes[home].connection, !toGateway.isEmpty, Bool.random(using: &random) else {
            return
        }
        switch toGateway.removeFirst() {
        case .acknowledge(let id): apply(nodes[home].route.acknowledged(id, connection: number), home)
        case .ping: apply(nodes[home].route.keptAlive(connection: number, now: now), home)
        case .state(let state): apply(nodes[home].route.changed(state: state, connection: number, now: now), home)
        case .topics(let topics): apply(nodes[home].route.changed(topics: topics, connection: number, now: now), home)
        default: break
        }
    }

    mutating func step() {
        let index = Int.random(in: 0..<2, using: &random)
        switch Int.random(in: 0..<24, using: &random) {
        case 0...4: push()
        case 5...11: work(index)
        case 12...16: hear(index)
        case 17...19: device()
        case 20:
            if Int.random(in: 0..<3, using: &random) == 0, let home { lose(home) } else { connect(index) }
        case 21:
            switch Int.random(in: 0..<6, using: &random) {
            case 0: crash(index)
            case 1: miss(index)
            default: recheck(index)
            }
        case 22:
            seconds += Double.random(in: 0...900, using: &random)
            if let home, let number = nodes[home].connection {
                apply(nodes[home].route.turn(connection: number), home)
            }
        default: change()
        }
    }

    mutating func change() {
        guard home != nil else { return }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: toGateway.append(.ping(interval: 60))
        case 1:
            state = ReportedActivity.allCases.randomElement(using: &random) ?? .active
            toGateway.append(.state(state))
        default:
            filters = RoutingWorld.topics.compactMap { topic in
                TopicFilter.allCases.randomElement(using: &random).map { TopicChoice(topic, $0) }
            }
            toGateway.append(.topics(filters))
        }
    }

    /// Lets the store execute all requests. The device connects, enables all topics, and stays until no work is
    /// pending.
    mutating func finish() {
        while nodes.contains(where: { !$0.asked.isEmpty }) { for index in nodes.indices { work(index) } }
        state = .active
        filters = []
        connect(Int.random(in: 0..<2, using: &random))
        for _ in 0..<20_000 {
            for index in nodes.indices {
                recheck(index)
                work(index)
                hear(index)
            }
            device()
            if nodes.allSatisfy({ $0.asked.isEmpty && $0.answers.isEmpty && $0.news.isEmpty }), toDevice.isEmpty,
                toGateway.isEmpty
            {
                break
            }
        }
    }
}
