import PushProtocol
import PushRouting
import PushStore
import Synchronization

/// The handling of pushes with a shared store. The gateway that accepts a push stores the push. The store then notifies
/// the gateway to which the device is connected.
extension Switchboard {
    func forward(_ push: Push, now: RouteTime, _ respond: @escaping @Sendable (Rejection?) -> Void) {
        guard !push.isExpired(now) else { return forward(push, nil, keepsEach: false, now: now, respond) }
        guard push.isSilent else { return forwardAlert(push, now: now, respond) }
        store.takeSilent(
            push.topic, device: push.device, settings.silent, wallSeconds: Double(now.wallMilliseconds) / 1_000
        ) { result in
            switch result {
            case .success(let verdict):
                self.forward(push, verdict, keepsEach: false, now: GatewayClock.now(), respond)
            case .failure(let error): respond(self.refusal(error))
            }
        }
    }

    /// Stores an alert. The gateway to which the device is connected decides whether the alert may replace another one.
    private func forwardAlert(_ push: Push, now: RouteTime, _ respond: @escaping @Sendable (Rejection?) -> Void) {
        guard push.lifetime != .once, push.type != .unifiedpush else {
            return forward(push, nil, keepsEach: false, now: now, respond)
        }
        store.keepsEach(push.topic, of: push.device) { result in
            // If no gateway answers, the alert does not replace another one.
            let keepsEach = (try? result.get()) ?? true
            self.forward(push, nil, keepsEach: keepsEach, now: GatewayClock.now(), respond)
        }
    }

    func keepsEach(_ topic: String, of device: DeviceID) -> Bool {
        state.withLock { $0.routes[device]?.keepsEach(topic) ?? false }
    }

    private func forward(
        _ push: Push, _ verdict: TokenBucket.Verdict?, keepsEach: Bool, now: RouteTime,
        _ respond: @escaping @Sendable (Rejection?) -> Void
    ) {
        func received(_ events: [DeliveryEvent]) -> LogNote {
            LogNote(received: push, withPayload: settings.isLoggingPayloads, events, at: now.wallMilliseconds)
        }
        func count(_ outcome: String) {
            metrics.count("nightshift_gateway_pushes_total{outcome=\"\(outcome)\"}")
        }
        switch DeviceRoute.forward(push, verdict, keepsEach: keepsEach, now: now) {
        case .discard(let why):
            count("discarded")
            note(received([.discarded(why)]))
            respond(nil)
        case .attempt:
            count("attempted")
            let first = received([])
            store.offer(push) { result in
                switch result {
                case .success(let discard):
                    var words = first
                    words.events = discard.map { [.discarded($0)] } ?? []
                    self.note(words)
                    respond(nil)
                case .failure(let error): respond(self.refusal(error))
                }
            }
        case .store(let slot, let heldUntil, let event):
            count(slot == .held ? "held" : "stored")
            let note = received(event.map { [$0] } ?? [])
            store.store(push, slot: slot, heldUntil: heldUntil, note: note) { result in
                switch result {
                case .success: respond(nil)
                case .failure(let error): respond(self.refusal(error))
                }
            }
        }
    }

    func arrived(_ stored: QueuedPush) {
        input(stored.push.device) { $0.arrived(stored, now: GatewayClock.now()) }
    }

    func offered(_ push: Push) -> DeliveryEvent.Discard? {
        state.withLock { state in
            guard let route = state.routes[push.device], route.isConnected else { return .notConnected }
            let (actions, discard) = state.routes[push.device, default: route]
                .offered(push, settings.silent, now: GatewayClock.now())
            perform(actions, push.device, &state)
            return discard
        }
    }

    func superseded(_ connection: UInt64, _ refusal: Refusal) {
        state.withLock { $0.links[connection] }?.close(refusal)
    }

    /// The devices that have a route at this gateway.
    var connected: [DeviceID] { state.withLock { Array($0.routes.keys) } }

    /// Reads the stored pushes of these devices.
    func recheck(_ devices: some Sequence<DeviceID>) {
        for device in devices { input(device) { $0.recheck() } }
    }

    func claim(_ topic: String, _ device: DeviceID, _ connection: UInt64) {
        let time = Double(GatewayClock.now().wallMilliseconds) / 1_000
        store.takeSilent(topic, device: device, settings.silent, wallSeconds: time) { result in
            // If the store cannot answer, hold the push for 30 seconds longer.
            let verdict = (try? result.get()) ?? .waits(30)
            self.input(device) { $0.claimed(topic, connection: connection, verdict, now: GatewayClock.now()) }
        }
    }
}
