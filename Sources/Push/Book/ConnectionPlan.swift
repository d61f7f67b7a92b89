package import NightshiftAPI
package import PushProtocol

/// Decides when the gateway is connected, when a connection is tried, and when it is asked whether it still is one.
///
/// Pure: what the network says goes in, with the times at which it said so, and actions come out. Times are boot seconds. The legal exits: `off`
/// to `offline` and `connecting`; `offline` to `connecting`; `connecting` to `open` and `waiting`; `open` to `waiting` and
/// `connecting`; `waiting` to `connecting`; each but `off` to `offline`, and every one to `off`.
package struct ConnectionPlan: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// Nothing is wanted.
        case off
        /// There is no network.
        case offline
        case connecting(since: Double)
        case open(since: Double)
        /// The last attempt failed: the next one is then.
        case waiting(until: Double)
    }

    package enum Action: Hashable, Sendable {
        /// A connection is made; one that is there is given up.
        case connect
        case disconnect
        /// A keep-alive, with the seconds within which the one after it comes.
        case ping(UInt32)
    }

    package private(set) var phase = Phase.off
    package private(set) var keepAlive = KeepAliveInterval()
    /// Why the last attempt failed, or the last connection ended.
    package private(set) var trouble: String?
    /// When the gateway was heard last.
    package private(set) var lastHeard: Double?
    private var isNetworkThere = true
    private var network: String?
    /// What the device said last.
    private var device = DeviceConditions()
    /// Whether the machine slept since the gateway was heard: silence says nothing of the network then.
    private var hasSlept = false
    /// Failures in a row.
    private var failures = 0
    /// What the gateway has granted, or was told last: it waits for half as long again.
    private var granted: UInt32 = 0
    private var pinged: Double?

    /// Seconds of the first pause; doubled by each failure up to the longest.
    package static let firstPause = 5.0
    package static let longestPause = 1_800.0
    /// Seconds after which an attempt or an answer is given up.
    package static let attemptPatience = 60.0
    package static let answerPatience = 20.0
    /// Seconds for which a connection has to stand for the failures before it to be forgotten.
    static let proof = 60.0
    /// A keep-alive that is due within this part of its interval goes when the device is awake anyway.
    private static let aligned = 0.5

    package init() {}

    // MARK: - What is wanted and possible

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

    /// What the device says of its network, and whether it sleeps.
    package mutating func apply(_ conditions: DeviceConditions, now: Double) -> [Action] {
        let wasThere = isNetworkThere
        let other = conditions.network.isAvailable && conditions.network.name != network
        let wakes = conditions.woke(since: device)
        isNetworkThere = conditions.network.isAvailable
        device = conditions
        if wakes || conditions.isSleeping { hasSlept = true }
        // While there is none, the last network is not another one.
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
        // The gateway is asked what came meanwhile, and whether it is still there.
        case .open: return ping(now)
        case .waiting:
            failures = 0
            return begin(now)
        case .off, .offline, .connecting: return []
        }
    }

    /// The device is awake for something else: a keep-alive that is due soon goes now.
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

    // MARK: - What the connection says

    /// The gateway has let the device in.
    package mutating func connected(keepAlive granted: UInt32, now: Double) {
        guard case .connecting = phase else { return }
        self.granted = granted
        phase = .open(since: now)
        trouble = nil
        heard(now)
    }

    /// Bytes came.
    package mutating func heard(_ now: Double) {
        lastHeard = now
        hasSlept = false
    }

    /// The answer to the keep-alive came, before ``heard(_:)`` is told of its bytes.
    package mutating func answered(now: Double) {
        guard let pinged else { return }
        if let lastHeard, !hasSlept { keepAlive.answered(silence: Int(saturating: pinged - lastHeard)) }
        self.pinged = nil
    }

    /// The connection has ended, or could not be made.
    ///
    /// - Parameters:
    ///   - jitter: 0..<1, another one each time, so that devices do not come back together.
    ///   - retryAfter: seconds that the gateway has named; 0 for none.
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
        // Its whole time at least, and the devices one behind the other.
        if retryAfter > 0 { return min(Double(retryAfter), 86_400) * (1 + jitter / 2) }
        let most: Double =
            switch code {
            // Nothing that time alone would mend.
            case .notAuthenticated, .version, .replaced: Self.longestPause
            default: min(Self.firstPause * Double(1 << min(failures - 1, 10)), Self.longestPause)
            }
        return most * (0.5 + jitter / 2)
    }

    /// A connection that broke when it was used behind a silence.
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
            ended("The gateway has not answered.", jitter: jitter, now: now)
            return [.disconnect]
        case .open:
            guard pinged != nil else { return ping(now) }
            silenceBroke(now)
            trouble = "The gateway has not answered a keep-alive."
            // A path that forgot the connection is no reason to wait.
            return begin(now)
        case .off, .offline: return []
        }
    }

    private mutating func ping(_ now: Double) -> [Action] {
        guard pinged == nil else { return [] }
        pinged = now
        // The interval may grow by half with the answer.
        let next = UInt32(min(keepAlive.current * 3 / 2, KeepAliveInterval.longest))
        granted = next
        return [.ping(next)]
    }

    /// Seconds between the last word of the gateway and a keep-alive.
    package var interval: Double {
        Double(granted == 0 ? keepAlive.current : min(keepAlive.current, Int(granted) * 3 / 2))
    }

    /// Whether there is a connection, or one is being made.
    package var isConnected: Bool {
        switch phase {
        case .connecting, .open: true
        case .off, .offline, .waiting: false
        }
    }

    /// Boot seconds at which ``tick(jitter:now:)`` has something to do.
    package var nextDeadline: Double? {
        switch phase {
        case .off, .offline: nil
        case .waiting(let until): until
        case .connecting(let since): since + Self.attemptPatience
        case .open(let since): pinged.map { $0 + Self.answerPatience } ?? (lastHeard ?? since) + interval
        }
    }
}
