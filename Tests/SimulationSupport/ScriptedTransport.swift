import Foundation
import Glibc
import NightshiftAPI
import Synchronization
package import TestSupport
package import Transfers

/// A network of scripted origins in virtual time. Bytes arrive in steps, when ``runDue()`` is called. The caller of
/// ``runDue()`` acts as the transport's thread, so no other code calls receivers.
package final class ScriptedTransport: Transport {
    /// A request that was sent, and the state of its exchange.
    package struct Begun: Sendable {
        package var time: Double
        package var request: WireRequest
        /// The scheme, host and port of the request.
        package var origin: String
    }

    struct State {
        var resources: [String: ScriptedResource] = [:]
        var exchanges: [Int: ScriptedExchange] = [:]
        var begun: [Begun] = []
        var nextNumber = 0
        var rateLimit: Int64?
        var isOnline = true
        var isHalted = false
        var random: SplitMix64
        var weather: @Sendable (inout SplitMix64) -> ScriptedBehaviour = { _ in .normal }
        /// The bandwidth of one connection in bytes per second.
        var bandwidth: Int64 = 4 << 20
        /// The seconds between two arrivals on one connection.
        var interval = ScriptedTransport.coarse
        var served: [String: Set<ScriptedVersion>] = [:]
        var observer: (@Sendable (Begun, [Begun]) -> Void)?
        /// The proxies that accept no connections.
        var deadProxies: Set<String> = []
        var forgotten = 0
        var mostAtOnce = 0

        /// The running exchanges, without those that were cancelled. A cancelled exchange no longer sends or receives.
        var underWay: [Begun] { exchanges.values.filter { !$0.isCancelled }.map(\.begun) }
    }

    private let clock: ManualClock
    let state: Mutex<State>

    package init(clock: ManualClock, seed: UInt64) {
        self.clock = clock
        state = Mutex(State(random: SplitMix64(seed: seed)))
    }

    /// Returns a transport for the next service, with the same origins and without running exchanges.
    package func successor(clock: ManualClock) -> ScriptedTransport {
        let old = state.withLock { old in
            old.isHalted = true
            return old
        }
        let next = ScriptedTransport(clock: clock, seed: 0)
        next.state.withLock { state in
            state = old
            state.exchanges = [:]
            state.isHalted = false
            state.rateLimit = nil
        }
        return next
    }

    // MARK: Behaviour of the origins

    package func serve(_ url: String, _ resource: ScriptedResource) {
        state.withLock { $0.resources[url] = resource }
    }

    package func change(_ url: String, _ body: (inout ScriptedResource) -> Void) {
        state.withLock { state in
            if state.resources[url] != nil { body(&state.resources[url, default: ScriptedResource([])]) }
        }
    }

    /// - Parameter proxies: the proxies, as requests name them, that accept no connections.
    package func setDeadProxies(_ proxies: Set<String>) {
        state.withLock { $0.deadProxies = proxies }
    }

    /// Sets the behaviour of exchanges whose resource has no script left.
    package func setWeather(_ weather: @escaping @Sendable (inout SplitMix64) -> ScriptedBehaviour) {
        state.withLock { $0.weather = weather }
    }

    /// - Parameter interval: the seconds between two arrivals on one connection. A test that measures rates needs a
    ///   short interval. Otherwise the result depends on the order of tasks at the same time.
    package func setBandwidth(_ bytesPerSecond: Int64, interval: Double = ScriptedTransport.coarse) {
        state.withLock { state in
            state.bandwidth = bytesPerSecond
            state.interval = interval
        }
    }

    /// The interval for tests in which only the number of bytes counts. It causes few events.
    package static let coarse = 0.25

    /// Sets whether there is a network. Without a network, running exchanges break and new ones do not connect.
    package func setOnline(_ isOnline: Bool) {
        state.withLock { $0.isOnline = isOnline }
        if !isOnline { breakConnections() }
    }

    /// Breaks all running exchanges. Later ones connect.
    package func breakConnections() {
        state.withLock { state in
            for id in state.exchanges.keys { state.exchanges[id]?.sever(at: clock.now().bootSeconds) }
        }
    }

    // MARK: Results

    /// Sets a function that is called for each request sent, with all running exchanges including that one.
    package func setObserver(_ observer: @escaping @Sendable (Begun, [Begun]) -> Void) {
        state.withLock { $0.observer = observer }
    }

    package var begun: [Begun] { state.withLock { $0.begun } }

    package var underWay: [Begun] { state.withLock(\.underWay) }

    /// The largest number of exchanges that ran at the same time.
    package var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    /// Returns the versions that were sent, in whole or in part.
    package func served(_ url: String) -> Set<ScriptedVersion> { state.withLock { $0.served[url] ?? [] } }

    package var rateLimit: Int64? { state.withLock { $0.rateLimit } }

    /// The rate limits of the running exchanges.
    package var rateLimits: [Int64?] { state.withLock { $0.exchanges.values.map(\.rateLimit) } }

    package var timesForgotten: Int { state.withLock { $0.forgotten } }

    // MARK: Transport

    package func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle {
        let now = clock.now().bootSeconds
        let (number, observer, begun, underWay) = state.withLock { state in
            state.nextNumber += 1
            let number = state.nextNumber
            let begun = Begun(time: now, request: request, origin: Self.origin(request.url))
            state.begun.append(begun)
            state.exchanges[number] = ScriptedExchange(begun: begun, receiver: receiver)
            state.mostAtOnce = max(state.mostAtOnce, state.underWay.count)
            return (number, state.observer, begun, state.underWay)
        }
        observer?(begun, underWay)
        return ScriptedHandle(transport: self, number: number)
    }

    package func setRateLimit(_ bytesPerSecond: Int64?) {
        state.withLock { $0.rateLimit = bytesPerSecond }
    }

    package func forgetConnections() {
        state.withLock { $0.forgotten += 1 }
    }

    func change(_ number: Int, _ body: (inout ScriptedExchange, _ now: Double) -> Void) {
        let now = clock.now().bootSeconds
        state.withLock { state in
            guard var exchange = state.exchanges[number] else { return }
            body(&exchange, now)
            state.exchanges[number] = exchange
        }
    }

    // MARK: Time

    /// The boot time of the next event.
    package var nextStep: Double? {
        state.withLock { $0.isHalted ? nil : $0.exchanges.values.compactMap(\.nextStep).min() }
    }

    /// Executes all events that are due.
    package func runDue() {
        while let (number, receiver, event) = nextEvent() {
            switch event {
            case .head(let head):
                let disposition = receiver.exchange(received: head)
                change(number) { exchange, now in exchange.begin(disposition, now) }
            case .end(let end):
                receiver.exchangeEnded(end)
            case .nothing: break
            }
        }
    }

    private func nextEvent() -> (Int, any ExchangeReceiver, ScriptedExchange.Event)? {
        let reading = clock.now()
        return state.withLock { state in
            guard !state.isHalted else { return nil }
            let due = state.exchanges.filter { $0.value.nextStep ?? .infinity <= reading.bootSeconds }
            // Events at the same time run in the order in which their exchanges started.
            let first = due.min { ($0.value.nextStep ?? 0, $0.key) < ($1.value.nextStep ?? 0, $1.key) }
            guard let number = first?.key, var exchange = first?.value else { return nil }
            let event = exchange.step(reading, &state)
            if case .end = event { state.exchanges[number] = nil } else { state.exchanges[number] = exchange }
            return (number, exchange.receiver, event)
        }
    }

    package static func origin(_ url: String) -> String {
        url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
    }
}

/// The service's handle of an exchange in a ``ScriptedTransport``.
private struct ScriptedHandle: ExchangeHandle {
    let transport: ScriptedTransport
    let number: Int

    func cancel() {
        transport.change(number) { exchange, now in exchange.cancel(now) }
    }

    func setRateLimit(_ bytesPerSecond: Int64?) {
        transport.change(number) { exchange, _ in exchange.rateLimit = bytesPerSecond }
    }

    func resumeWriting() {
        transport.change(number) { exchange, now in exchange.resume(now) }
    }
}
