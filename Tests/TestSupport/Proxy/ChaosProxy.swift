import Foundation

/// A TCP proxy on loopback that makes the route to a server long, narrow or broken.
///
/// It uses one thread per connection. It ends with ``stop()`` or with this object.
package final class ChaosProxy: Sendable {
    private let core: ProxyCore
    private let acceptor: Acceptor

    /// Starts a proxy that forwards its own port to `port` on the same address.
    package init(to port: UInt16, host: Loopback = .ipv4, conditions: Conditions = Conditions()) throws {
        let core = ProxyCore(upstream: port, host: host, conditions: conditions)
        self.core = core
        acceptor = try Acceptor(host: host, port: 0) { core.serve($0) }
    }

    deinit {
        stop()
    }

    package var port: UInt16 { acceptor.port }

    package func url(_ path: String = "/") -> String { "http://\(acceptor.host.urlHost):\(port)\(path)" }

    /// The conditions of the route. Changes apply at once, also to open connections.
    package struct Conditions: Sendable {
        /// The delay in one direction.
        package var latency: Duration = .zero
        /// The bandwidth of all connections together, for each direction.
        package var bytesPerSecond: Int64?
        /// The bandwidth of each connection, for each direction.
        package var bytesPerSecondEach: Int64?
        /// The bandwidth of individual connections, by the number of connections before them, instead of
        /// ``bytesPerSecondEach``.
        package var bytesPerSecondOf: [Int: Int64] = [:]
        /// The number of bytes, in both directions together, after which the first connection ends.
        package var firstCut: Int64?
        /// Whether connections are accepted but no byte passes.
        package var isBlackHole = false
        package var cuts: Cuts?

        package init(
            latency: Duration = .zero, bytesPerSecond: Int64? = nil, isBlackHole: Bool = false, cuts: Cuts? = nil
        ) {
            self.latency = latency
            self.bytesPerSecond = bytesPerSecond
            self.isBlackHole = isBlackHole
            self.cuts = cuts
        }
    }

    /// The random ends of new connections. Each connection ends after a random number of bytes, half of the time with a
    /// reset.
    package struct Cuts: Sendable {
        package var seed: UInt64
        /// The mean number of bytes of a connection. The numbers are evenly distributed from 0 to twice the mean.
        package var meanBytes: Int64

        package init(seed: UInt64, meanBytes: Int64) {
            self.seed = seed
            self.meanBytes = meanBytes
        }
    }

    /// The totals so far.
    package struct Totals: Sendable {
        package var connections = 0
        package var openConnections = 0
        /// The number of connections that ended because of ``Cuts``.
        package var cuts = 0
        /// The part of ``bytesDown`` that the clients had not read when their connections were cut. It includes bytes
        /// that the proxy held back, and bytes in the kernel. Some of the bytes in the kernel may still arrive.
        package var bytesCutOff: Int64 = 0
        /// The bytes from clients to the server.
        package var bytesUp: Int64 = 0
        package var bytesDown: Int64 = 0
    }

    package var totals: Totals { core.state.read { $0.totals } }

    package var conditions: Conditions { core.state.read { $0.conditions } }

    package func change(_ change: (inout Conditions) -> Void) {
        core.state.update { state in
            let before = state.conditions.cuts
            change(&state.conditions)
            if let cuts = state.conditions.cuts, cuts.seed != before?.seed {
                state.random = SplitMix64(seed: cuts.seed)
            }
        }
        core.wakeAll()
    }

    /// Suspends until the totals satisfy the condition.
    package func wait(
        for what: String, within bound: Duration = .seconds(20), until isSatisfied: @escaping @Sendable (Totals) -> Bool
    ) async throws {
        try await core.state.wait(within: bound, for: what) { isSatisfied($0.totals) }
    }

    /// Ends all open connections now, with a reset or as if both sides had closed.
    package func killConnections(reset: Bool = true) {
        core.state.update { state in
            for id in state.open.keys { state.open[id]?.verdict = reset ? .reset : .close }
        }
        core.wakeAll()
        _ = core.state.block(within: .seconds(5)) { state in !state.open.values.contains { $0.verdict != nil } }
    }

    /// Refuses new connections. Open ones continue.
    package func stopAccepting() {
        acceptor.close()
    }

    /// Accepts connections on the same port again.
    package func startAccepting() throws {
        try acceptor.open()
    }

    /// Ends all connections. Returns once the proxy's threads have ended.
    package func stop() {
        acceptor.close()
        killConnections()
    }
}

extension ChaosProxy.Conditions {
    /// Returns the bandwidth of one connection, by the number of connections before it.
    func bytesPerSecond(of connection: Int) -> Int64? {
        bytesPerSecondOf[connection] ?? bytesPerSecondEach
    }
}

/// The state that a proxy's connections share. It does not keep the proxy itself alive.
final class ProxyCore: Sendable {
    let upstream: UInt16
    let host: Loopback
    let state: Watched<State>

    struct State: Sendable {
        var conditions: ChaosProxy.Conditions
        var random: SplitMix64
        var totals = ChaosProxy.Totals()
        var open: [Int: Link] = [:]
        /// The times at which the next byte of the shared bandwidth may pass, up and down.
        var nextFree: [ContinuousClock.Instant] = [.now, .now]
    }

    struct Link: Sendable {
        /// Wakes the connection's thread.
        var wakeup: Wakeup
        var verdict: Verdict?
        var bytesLeft: Int64?
        /// The times at which the next byte of the connection's own bandwidth may pass, up and down.
        var nextFree: [ContinuousClock.Instant] = [.now, .now]
    }

    enum Verdict: Sendable {
        case close, reset
    }

    init(upstream: UInt16, host: Loopback, conditions: ChaosProxy.Conditions) {
        self.upstream = upstream
        self.host = host
        state = Watched(State(conditions: conditions, random: SplitMix64(seed: conditions.cuts?.seed ?? 0)))
    }

    func serve(_ client: Socket) {
        let wakeup = Wakeup()
        let id = state.update { state -> Int in
            let id = state.totals.connections
            state.totals.connections += 1
            state.totals.openConnections += 1
            var limit = state.conditions.cuts.map { Int64.random(in: 0...2 * $0.meanBytes, using: &state.random) }
            if id == 0, let cut = state.conditions.firstCut { limit = cut }
            state.open[id] = Link(wakeup: wakeup, bytesLeft: limit)
            return id
        }
        Thread.detachNewThread {
            var connection = ProxiedConnection(core: self, id: id, client: client, wakeup: wakeup)
            connection.run()
            self.state.update { state in
                state.open[id] = nil
                state.totals.openConnections -= 1
                wakeup.close()
            }
        }
    }

    func wakeAll() {
        state.update { state in
            for link in state.open.values { link.wakeup.wake() }
        }
    }
}
