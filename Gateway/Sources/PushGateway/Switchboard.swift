package import Logging
package import PushProtocol
package import PushRouting
package import PushStore
import Synchronization

/// A reference to the connection of a device. Its methods return immediately, and take effect in the order of the
/// calls.
package protocol DeviceLink: Sendable {
    func send(_ message: Message)
    func answerKeepAlive()
    /// Schedules a call to ``Switchboard/turn(_:connection:)`` at this time, in milliseconds since 1970.
    func wake(at: Int64)
    func close(_ refusal: Refusal)
}

/// The coordinator of devices and pushes. It executes the actions of each device's ``DeviceRoute`` on the store and on
/// connections.
///
/// It requests store operations while it holds the lock, so that the operations have the order of the decisions.
package final class Switchboard: Sendable {
    struct State {
        var routes: [DeviceID: DeviceRoute] = [:]
        var links: [UInt64: any DeviceLink] = [:]
        var lastConnection: UInt64 = 0
        /// The devices that were revoked since the gateway started. A device may have authenticated just before its
        /// revocation.
        var revoked: Set<DeviceID> = []
    }

    let store: any GatewayStore
    let settings: GatewaySettings
    let metrics: Metrics
    let logger: Logger
    let state = Mutex(State())
    private let growth: LogSignal

    package init(
        store: any GatewayStore, settings: GatewaySettings, metrics: Metrics, growth: LogSignal, logger: Logger
    ) {
        self.store = store
        self.settings = settings
        self.metrics = metrics
        self.growth = growth
        self.logger = logger
    }

    // MARK: - Pushes

    /// Accepts a push. Calls `respond` when the provider may receive the response. A push that is stored must be on the
    /// disk first.
    package func accept(_ push: Push, respond: @escaping @Sendable (Rejection?) -> Void) {
        guard store.depth < settings.commitDepth else { return respond(.serviceUnavailable) }
        let now = GatewayClock.now()
        let withPayload = settings.isLoggingPayloads
        if store.isShared { return forward(push, now: now, respond) }
        state.withLock { state in
            let admission = state.routes[push.device, default: DeviceRoute()].admit(push, settings.silent, now: now)
            switch admission {
            case .discard(let why):
                metrics.count("nightshift_gateway_pushes_total{outcome=\"discarded\"}")
                note(LogNote(received: push, withPayload: withPayload, [.discarded(why)], at: now.wallMilliseconds))
                respond(nil)
            case .attempt:
                metrics.count("nightshift_gateway_pushes_total{outcome=\"attempted\"}")
                note(LogNote(received: push, withPayload: withPayload, [], at: now.wallMilliseconds))
                if let actions = state.routes[push.device]?.attempt(push) { perform(actions, push.device, &state) }
                respond(nil)
            case .store(let slot, let heldUntil, let event):
                let outcome = slot == .held ? "held" : "stored"
                metrics.count("nightshift_gateway_pushes_total{outcome=\"\(outcome)\"}")
                let note = LogNote(
                    received: push, withPayload: withPayload, event.map { [$0] } ?? [],
                    at: now.wallMilliseconds)
                store.store(push, slot: slot, heldUntil: heldUntil, note: note) { self.committed(push, $0, respond) }
            }
        }
    }

    /// Removes a stored UnifiedPush message. A message that was already sent still arrives.
    ///
    /// - Parameter respond: called with true if the message was stored.
    package func withdraw(
        _ push: PushID, topic: String, device: DeviceID, respond: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        guard store.depth < settings.commitDepth else {
            return respond(.failure(StoreError(.unavailable, "Too many operations are waiting for the disk.")))
        }
        let time = GatewayClock.now().wallMilliseconds
        store.withdraw(push, topic: topic, device: device, at: time) { result in
            self.growth.grew()
            respond(result)
        }
    }

    private func committed(
        _ push: Push, _ result: Result<Stored, StoreError>, _ respond: (Rejection?) -> Void
    ) {
        switch result {
        case .success(let done):
            growth.grew()
            state.withLock { state in
                // If the route was discarded in the meantime, a new route makes the same decision.
                let actions = state.routes[push.device, default: DeviceRoute()]
                    .committed(
                        done.stored, replaced: done.replaced, evicted: done.evicted, now: GatewayClock.now())
                perform(actions, push.device, &state)
            }
            respond(nil)
        case .failure(let error): respond(refusal(error))
        }
    }

    func refusal(_ error: StoreError) -> Rejection {
        logger.error("A push could not be stored.", metadata: ["reason": "\(error)"])
        return error.code == .unavailable ? .serviceUnavailable : .internalServerError
    }

    // MARK: - Devices

    /// Handles the connection of a device, and returns the number of the connection.
    package func connected(
        _ device: DeviceID, _ deviceState: ReportedActivity, _ topics: [TopicChoice], link: any DeviceLink
    ) -> UInt64 {
        state.withLock { state in
            state.lastConnection += 1
            let number = state.lastConnection
            state.links[number] = link
            // Attach before reading the store. The store then reports all later pushes, so that none is missed.
            store.attach(device, connection: number, at: GatewayClock.now().wallMilliseconds)
            let actions = state.routes[device, default: DeviceRoute(isShared: store.isShared)].connected(
                number, deviceState, topics)
            perform(actions, device, &state)
            if state.revoked.contains(device) { link.close(Self.revocation) }
            return number
        }
    }

    package func disconnected(_ device: DeviceID, connection: UInt64) {
        input(device) { $0.disconnected(connection) }
        state.withLock { state in
            store.detach(device, connection: connection)
            state.links[connection] = nil
            if state.routes[device]?.isForgettable(settings.silent, now: GatewayClock.now()) == true {
                state.routes[device] = nil
            }
        }
    }

    package func acknowledged(_ push: PushID, _ device: DeviceID, connection: UInt64) {
        metrics.count("nightshift_gateway_acknowledged_total")
        input(device) { $0.acknowledged(push, connection: connection) }
    }

    package func keptAlive(_ device: DeviceID, connection: UInt64) {
        input(device) { $0.keptAlive(connection: connection, now: GatewayClock.now()) }
    }

    package func changed(_ device: DeviceID, to deviceState: ReportedActivity, connection: UInt64) {
        input(device) { $0.changed(state: deviceState, connection: connection, now: GatewayClock.now()) }
    }

    package func changed(_ device: DeviceID, to topics: [TopicChoice], connection: UInt64) {
        input(device) { $0.changed(topics: topics, connection: connection, now: GatewayClock.now()) }
    }

    package func turn(_ device: DeviceID, connection: UInt64) {
        input(device) { $0.turn(connection: connection) }
    }

    private static let revocation = Refusal(.notAuthenticated, "The device was revoked.")

    /// Handles the revocation of a device: closes its connection, and any connection that is being authenticated.
    package func revoked(_ device: DeviceID) {
        state.withLock { state in
            state.revoked.insert(device)
            guard let number = state.routes[device]?.connectionNumber else { return }
            state.links[number]?.close(Self.revocation)
        }
    }

    package func isConnected(_ device: DeviceID) -> Bool {
        state.withLock { $0.routes[device]?.isConnected ?? false }
    }

    /// Closes the connections of all devices.
    package func endAll(_ refusal: Refusal) {
        let links = state.withLock { Array($0.links.values) }
        for link in links { link.close(refusal) }
    }

    /// Discards routes that hold no state.
    package func sweep() {
        let now = GatewayClock.now()
        state.withLock { state in
            state.routes = state.routes.filter { !$0.value.isForgettable(settings.silent, now: now) }
        }
    }

    func input(_ device: DeviceID, _ body: (inout DeviceRoute) -> [DeviceRoute.Action]) {
        state.withLock { state in
            guard state.routes[device] != nil else { return }
            let actions = body(&state.routes[device, default: DeviceRoute()])
            perform(actions, device, &state)
        }
    }

    // MARK: - Effects

    func perform(_ actions: [DeviceRoute.Action], _ device: DeviceID, _ state: inout State) {
        for action in actions {
            switch action {
            case .send(let message, let connection): state.links[connection]?.send(message)
            case .answerKeepAlive(let connection): state.links[connection]?.answerKeepAlive()
            case .supersede(let connection):
                let refusal = Refusal(.replaced, "The device opened a new connection.")
                state.links.removeValue(forKey: connection)?.close(refusal)
            case .wake(let connection, let time): state.links[connection]?.wake(at: time)
            case .remove(let place, let events):
                let note = LogNote(place.id, events, at: GatewayClock.now().wallMilliseconds)
                store.remove(place, device: device, note: note) { self.noted($0) }
            case .log(let id, let event): note(LogNote(id, [event], at: GatewayClock.now().wallMilliseconds))
            case .claim(let topic, let connection): claim(topic, device, connection)
            case .load(let connection, let occasion): load(device, connection, occasion)
            }
        }
    }

    private func load(_ device: DeviceID, _ connection: UInt64, _ occasion: DeviceRoute.Occasion) {
        store.waiting(for: device) { result in
            switch result {
            case .success(let rows):
                self.input(device) {
                    $0.loaded(
                        rows, connection: connection, occasion: occasion, self.settings.silent, now: GatewayClock.now())
                }
            case .failure(let error):
                // Close the connection. The device will reconnect, and its pushes are then read again.
                self.logger.error("The stored pushes could not be read.", metadata: ["reason": "\(error)"])
                self.state.withLock { $0.links[connection] }?.close(Refusal(.trouble, "The gateway's storage failed."))
            }
        }
    }

    /// Writes a note to the delivery log without waiting for the result.
    func note(_ note: LogNote) {
        store.write(note) { self.noted($0) }
    }

    private func noted(_ error: StoreError?) {
        growth.grew()
        if let error { logger.error("The delivery log could not be written.", metadata: ["reason": "\(error)"]) }
    }
}
