package import NightshiftAPI
package import PushProtocol

/// The plan that decides when to connect to the gateway and when to send a keep-alive.
///
/// A pure value: events of the network go in with their times, and actions come out. Times are boot seconds. The
/// allowed transitions are: `off` to `offline` and `connecting`; `offline` to `connecting`; `connecting` to `open` and
/// `waiting`; `open` to `waiting` and `connecting`; `waiting` to `connecting`; every state except `off` to `offline`;
/// every state to `off`.
package struct ConnectionPlan: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// The phase in which no connection is wanted.
        case off
        /// The phase in which no network is available.
        case offline
        case connecting(since: Double)
        case open(since: Double)
        /// The last attempt failed, and the next one follows at the given time.
        case waiting(until: Double)
    }

    package enum Action: Hashable, Sendable {
        /// The action that opens a connection. An existing connection is closed first.
        case connect
        case disconnect
        /// The action that sends a keep-alive, with the maximum number of seconds until the next one.
        case ping(UInt32)
    }

    package private(set) var phase = Phase.off
    package private(set) var keepAlive = KeepAliveInterval()
    /// The reason why the last attempt failed or the last connection ended.
    package private(set) var trouble: String?
    /// The time of the last bytes from the gateway.
    package private(set) var lastHeard: Double?
    private var isNetworkThere = true
    private var network: String?
    /// The last known device conditions.
    private var device = DeviceConditions()
    /// Whether the machine has slept since the last bytes from the gateway. If so, the silence since then says nothing
    /// about the network.
    private var hasSlept = false
    /// The number of consecutive failures.
    private var failures = 0
    /// The keep-alive interval in seconds that the gateway granted, or that was sent to the gateway last. The gateway
    /// waits one and a half times as long before it closes the connection.
    private var granted: UInt32 = 0
    private var pinged: Double?

    /// The first pause in seconds after a failure. Each further failure doubles it, up to ``longestPause``.
    package static let firstPause = 5.0
    package static let longestPause = 1_800.0
    /// The time limit in seconds for an attempt to connect. ``answerTimeout`` is the limit for the answer to a
    /// keep-alive.
    package static let attemptTimeout = 60.0
    package static let answerTimeout = 20.0
    /// The number of seconds for which a connection must be open before its end no longer adds to earlier failures.
    static let proof = 60.0
    /// The fraction of the interval after which a keep-alive may be sent early, if the device is awake for other work.
    private static let aligned = 0.5

    package init() {}

    // MARK: - Conditions

    package mutating func want(_ isWanted: Bool, now: Double) -> [Action] {
        guard isWanted else {
            guard phase != .off else { return [] }
            defer { phase = .off }
            trouble = nil
            failures = 0
            return isConnected ? [.disconnect] : []
        }
        return phase == .off ? begin(now) : []
    }

    /// Applies the device conditions: the network, and whether the machine is asleep.
    package mutating func apply(_ conditions: DeviceConditions, now: Double) -> [Action] {
        let wasThere = isNetworkThere
        let other = conditions.network.isAvailable && conditions.network.name != network
        let wakes = conditions.woke(since: device)
        isNetworkThere = conditions.network.isAvailable
        device = conditions
        if wakes || conditions.isSleeping { hasSlept = true }
        // While no network is available, the name of the last network is kept.
        if isNetworkThere {
            if other { keepAlive.networkChanged() }
            network = conditions.network.name
        }
        guard phase != .off else { return [] }
        guard isNetworkThere else {
            guard phase != .offline else { return [] }
            defer { phase = .offline }
            return isConnected ? [.disconnect] : []
        }
        if !wasThere || other {
            failures = 0
            return begin(now)
        }
        guard wakes else { return [] }
        switch phase {
        // A keep-alive shows whether the gateway is still connected, and fetches pushes that arrived during the sleep.
        case .open: return ping(now)
        case .waiting:
            failures = 0
            return begin(now)
        case .off, .offline, .connecting: return []
        }
    }

    /// Sends a keep-alive that will soon be due, because the device is awake for other work.
    package mutating func isAwakeAnyway(now: Double) -> [Action] {
        guard case .open = phase, let lastHeard, now - lastHeard >= interval * Self.aligned else { return [] }
        return ping(now)
    }

    private mutating func begin(_ now: Double) -> [Action] {
        guard isNetworkThere else {
            phase = .offline
            return []
        }
        phase = .connecting(since: now)
        pinged = nil
        return [.connect]
    }

    // MARK: - Events of the connection

    /// Handles the gateway's acceptance of the device.
    package mutating func connected(keepAlive granted: UInt32, now: Double) {
        guard case .connecting = phase else { return }
        self.granted = granted
        phase = .open(since: now)
        trouble = nil
        heard(now)
    }

    /// Handles the arrival of bytes.
    package mutating func heard(_ now: Double) {
        lastHeard = now
        hasSlept = false
    }

    /// Handles the answer to a keep-alive. It must be called before ``heard(_:)`` is called for the bytes of the
    /// answer.
    package mutating func answered(now: Double) {
        guard let pinged else { return }
        if let lastHeard, !hasSlept { keepAlive.answered(silence: Int(saturating: pinged - lastHeard)) }
        self.pinged = nil
    }

    /// Handles the end of a connection, or a failed attempt to connect.
    ///
    /// - Parameters:
    ///   - jitter: a random number in 0..<1. It prevents all devices from reconnecting at the same time.
    ///   - retryAfter: the pause in seconds that the gateway requests; 0 for none.
    package mutating func ended(
        _ why: String, _ code: RefusalCode? = nil, retryAfter: UInt32 = 0, jitter: Double, now: Double
    ) {
        guard isConnected else { return }
        if case .open(let since) = phase {
            if now - since >= Self.proof { failures = 0 }
            silenceBroke(now)
        }
        failures += 1
        trouble = why
        pinged = nil
        phase = .waiting(until: now + pause(code, retryAfter, jitter))
    }

    private func pause(_ code: RefusalCode?, _ retryAfter: UInt32, _ jitter: Double) -> Double {
        // The pause is at least as long as requested. A random part makes devices reconnect at different times.
        if retryAfter > 0 { return min(Double(retryAfter), 86_400) * (1 + jitter / 2) }
        let most: Double =
            switch code {
            // These failures do not disappear with time.
            case .notAuthenticated, .version, .replaced: Self.longestPause
            default: min(Self.firstPause * Double(1 << min(failures - 1, 10)), Self.longestPause)
            }
        return most * (0.5 + jitter / 2)
    }

    /// Shortens the keep-alive interval if the connection broke during a silence.
    private mutating func silenceBroke(_ now: Double) {
        guard let pinged, let lastHeard, !hasSlept else { return }
        let silence = min(Int(saturating: pinged - lastHeard), KeepAliveInterval.longest)
        keepAlive.lost(silence: silence)
    }

    // MARK: - Time

    package mutating func tick(jitter: Double, now: Double) -> [Action] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        switch phase {
        case .waiting: return begin(now)
        case .connecting:
            ended("The gateway has not responded.", jitter: jitter, now: now)
            return [.disconnect]
        case .open:
            guard pinged != nil else { return ping(now) }
            silenceBroke(now)
            trouble = "The gateway has not responded to a keep-alive."
            // There is no pause, because a network device may have dropped the silent connection.
            return begin(now)
        case .off, .offline: return []
        }
    }

    private mutating func ping(_ now: Double) -> [Action] {
        guard pinged == nil else { return [] }
        pinged = now
        // An answer to the keep-alive may increase the interval by half.
        let next = UInt32(min(keepAlive.current * 3 / 2, KeepAliveInterval.longest))
        granted = next
        return [.ping(next)]
    }

    /// The number of seconds between the last bytes from the gateway and the next keep-alive.
    package var interval: Double {
        Double(granted == 0 ? keepAlive.current : min(keepAlive.current, Int(granted) * 3 / 2))
    }

    /// Whether a connection is open or being opened.
    package var isConnected: Bool {
        switch phase {
        case .connecting, .open: true
        case .off, .offline, .waiting: false
        }
    }

    /// The time in boot seconds at which ``tick(jitter:now:)`` must be called; nil if no call is due.
    package var nextDeadline: Double? {
        switch phase {
        case .off, .offline: nil
        case .waiting(let until): until
        case .connecting(let since): since + Self.attemptTimeout
        case .open(let since): pinged.map { $0 + Self.answerTimeout } ?? (lastHeard ?? since) + interval
        }
    }
}
