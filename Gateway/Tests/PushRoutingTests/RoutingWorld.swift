import PushProtocol
import PushRouting

/// A gateway with one device's route, a disk, a network and a device. Each of these may be slow, and each may fail.
struct RoutingWorld {
    enum Operation {
        case store(QueuedPush)
        case remove(StoredPlace)
        case load(UInt64, DeviceRoute.Occasion)
    }

    enum Completion {
        case stored(QueuedPush, replaced: [PushID])
        case loaded([QueuedPush], UInt64, DeviceRoute.Occasion)
    }

    struct Place: Hashable {
        var topic: String
        var slot: Slot
    }

    var random: Seeded
    var seconds = 0.0
    var route = DeviceRoute()
    let settings = TokenBucket.Settings.standard

    var disk: [Place: QueuedPush] = [:]
    /// The operations that were requested from the disk and are not done.
    var queue: [Operation] = []
    /// The completed operations whose completion has not been delivered.
    var completions: [Completion] = []
    var toDevice: [Message] = []
    var toGateway: [Frame] = []
    var connection: UInt64?
    var lastConnection: UInt64 = 0
    var nextPush: UInt64 = 1
    var state = ReportedActivity.active
    var filters: [TopicChoice] = []

    /// The pushes whose provider received a 200.
    var accepted: [PushID: Push] = [:]
    var superseded: Set<PushID> = []
    /// The alerts that came while the device was connected. Each one must arrive, in order.
    var promised: Set<PushID> = []
    var lastArrived: [String: PushID] = [:]
    var dropped: Set<PushID> = []
    var written: Set<PushID> = []
    var sentOnConnection: Set<PushID> = []
    var faults: [String] = []
    var freeSilent: [String: Int] = [:]
    var crashes = 0
    var events: [PushID: [DeliveryEvent]] = [:]

    static let topics = ["a", "b", "c"]

    init(seed: UInt64) {
        random = Seeded(seed)
    }

    var now: RouteTime { .at(seconds) }

    // MARK: - Effects

    mutating func apply(_ actions: [DeviceRoute.Action]) {
        for action in actions {
            switch action {
            case .send(let message, let number): send(message, number)
            case .load(let number, let occasion): queue.append(.load(number, occasion))
            case .remove(let place, let words):
                queue.append(.remove(place))
                events[place.id, default: []] += words
                if words.contains(.discarded(.disabled)) || words.contains(.discarded(.expired)) {
                    dropped.insert(place.id)
                }
            case .log(let id, let event):
                events[id, default: []].append(event)
            case .answerKeepAlive, .supersede, .wake, .claim: break
            }
        }
    }

    mutating func send(_ message: Message, _ number: UInt64) {
        guard number == connection else { return }
        if let expiry = message.expiry, expiry <= now.wallSeconds {
            faults.append("sent after its expiry: \(message.id)")
        }
        if !sentOnConnection.insert(message.id).inserted { faults.append("sent twice: \(message.id)") }
        toDevice.append(message)
    }

    /// Makes the disk execute the oldest operation.
    mutating func work() {
        guard !queue.isEmpty else { return }
        switch queue.removeFirst() {
        case .store(let stored):
            var places = [Place(topic: stored.push.topic, slot: stored.slot)]
            if stored.slot == .silent {
                places.append(Place(topic: stored.push.topic, slot: .held))
            }
            let replaced = places.compactMap { disk.removeValue(forKey: $0)?.push.id }
            disk[places[0]] = stored
            superseded.formUnion(replaced)
            for id in replaced where promised.contains(id) { faults.append("replaced, and promised: \(id)") }
            completions.append(.stored(stored, replaced: replaced))
        case .remove(let place): disk = disk.filter { $0.value.place != place }
        case .load(let number, let occasion): completions.append(.loaded(Array(disk.values), number, occasion))
        }
    }

    mutating func complete() {
        guard !completions.isEmpty else { return }
        switch completions.removeFirst() {
        case .stored(let stored, let replaced):
            accepted[stored.push.id] = stored.push
            apply(route.committed(stored, replaced: replaced, now: now))
        case .loaded(let rows, let number, let occasion):
            apply(route.loaded(rows, connection: number, occasion: occasion, settings, now: now))
        }
    }

    // MARK: - Steps

    mutating func push() {
        let isSilent = Int.random(in: 0..<3, using: &random) == 0
        let life: Push.Lifetime =
            switch Int.random(in: 0..<5, using: &random) {
            case 0: .once
            case 1: .until(now.wallSeconds + Int64.random(in: 1...600, using: &random))
            default: .until(now.wallSeconds + 1_000_000)
            }
        let push = Push.sample(
            nextPush, topic: Self.topics.randomElement(using: &random) ?? "a", lifetime: life,
            priority: isSilent ? .considerate : PushPriority.allCases.randomElement(using: &random) ?? .immediate,
            isSilent: isSilent, at: seconds)
        nextPush += 1
        switch route.admit(push, settings, now: now) {
        case .discard(let why): events[push.id] = [.discarded(why)]
        case .attempt: apply(route.attempt(push))
        case .store(let slot, let heldUntil, _):
            if push.lifetime == .once { faults.append("one attempt, and stored: \(push.id)") }
            if !isSilent, route.keepsEach(push.topic) { promised.insert(push.id) }
            if slot == .silent { freeSilent[push.topic, default: 0] += 1 }
            queue.append(.store(push.stored(slot, heldUntil: heldUntil)))
        }
    }

    mutating func connect() {
        lastConnection += 1
        connection = lastConnection
        toDevice = []
        toGateway = []
        sentOnConnection = []
        apply(route.connected(lastConnection, state, filters))
    }

    mutating func disconnect() {
        guard let number = connection else { return }
        connection = nil
        toDevice = []
        toGateway = []
        apply(route.disconnected(number))
    }

    /// Crashes the gateway, which loses its memory and all operations that were not on the disk.
    mutating func crash() {
        crashes += 1
        connection = nil
        queue = []
        completions = []
        toDevice = []
        toGateway = []
        route = DeviceRoute()
    }

    mutating func deviceReads() {
        guard !toDevice.isEmpty else { return }
        let message = toDevice.removeFirst()
        if written.insert(message.id).inserted, promised.contains(message.id) {
            if let last = lastArrived[message.topic], last.low > message.id.low {
                faults.append("after a newer one: \(message.id)")
            }
            lastArrived[message.topic] = message.id
        }
        toGateway.append(.acknowledge(message.id))
    }

    mutating func gatewayReads() {
        guard !toGateway.isEmpty, let number = connection else { return }
        switch toGateway.removeFirst() {
        case .acknowledge(let id): apply(route.acknowledged(id, connection: number))
        case .ping: apply(route.keptAlive(connection: number, now: now))
        case .state(let state): apply(route.changed(state: state, connection: number, now: now))
        case .topics(let topics): apply(route.changed(topics: topics, connection: number, now: now))
        default: break
        }
    }

    mutating func step() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0...4: push()
        case 5...7: work()
        case 8...10: complete()
        case 11, 12: deviceReads()
        case 13, 14: gatewayReads()
        case 15: connection == nil || Int.random(in: 0..<4, using: &random) == 0 ? connect() : disconnect()
        case 16: if Int.random(in: 0..<4, using: &random) == 0 { crash() }
        case 17:
            seconds += Double.random(in: 0...900, using: &random)
            if let connection { apply(route.turn(connection: connection)) }
        case 18: if connection != nil { toGateway.append(.ping(interval: 60)) }
        default: change()
        }
    }

    mutating func change() {
        if Bool.random(using: &random) {
            state = ReportedActivity.allCases.randomElement(using: &random) ?? .active
            if connection != nil { toGateway.append(.state(state)) }
        } else {
            filters = Self.topics.compactMap { topic in
                TopicFilter.allCases.randomElement(using: &random).map { TopicChoice(topic, $0) }
            }
            if connection != nil { toGateway.append(.topics(filters)) }
        }
    }

    /// Connects the device, which enables all topics and stays until no work is pending.
    mutating func finish() {
        state = .active
        filters = []
        connect()
        for _ in 0..<10_000 {
            if queue.isEmpty && completions.isEmpty && toDevice.isEmpty && toGateway.isEmpty { break }
            work()
            complete()
            deviceReads()
            gatewayReads()
        }
    }

    /// The pushes that were answered with 200, but neither arrived nor were discarded for a reason.
    var lost: [PushID] {
        accepted.keys.filter { !written.contains($0) && !superseded.contains($0) && !dropped.contains($0) }
    }
}
