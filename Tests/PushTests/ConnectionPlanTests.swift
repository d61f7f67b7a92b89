import NightshiftAPI
import Push
import PushProtocol
import TestSupport
import Testing

/// R4 B6: The times of connections to the gateway, and of keep-alives.
@Suite struct ConnectionPlanTests {
    private static func conditions(_ name: String? = "home", isAvailable: Bool = true) -> DeviceConditions {
        var conditions = DeviceConditions()
        conditions.network.name = name
        conditions.network.isAvailable = isAvailable
        return conditions
    }

    private static func open(at now: Double = 0) -> ConnectionPlan {
        var plan = ConnectionPlan()
        _ = plan.apply(conditions(), now: now)
        _ = plan.want(true, now: now)
        plan.connected(keepAlive: 0, now: now)
        return plan
    }

    @Test func `R4: The plan connects and has a deadline only if a connection is requested`() {
        var plan = ConnectionPlan()
        #expect(plan.apply(Self.conditions("other"), now: 0) == [] && plan.nextDeadline == nil)
        #expect(plan.want(true, now: 1) == [.connect] && plan.want(true, now: 2) == [])
        plan.connected(keepAlive: 300, now: 3)
        #expect(plan.want(false, now: 4) == [.disconnect])
        #expect(plan.phase == .off && plan.nextDeadline == nil && plan.tick(jitter: 0, now: 1e6) == [])
    }

    @Test func `R4: Pauses between attempts grow up to half an hour, and vary randomly`() {
        var plan = ConnectionPlan()
        _ = plan.want(true, now: 0)
        var now = 0.0
        var pauses: [Double] = []
        for _ in 0..<12 {
            plan.ended("no", jitter: 1, now: now)
            let deadline = plan.nextDeadline ?? 0
            pauses.append(deadline - now)
            #expect(plan.tick(jitter: 0, now: deadline - 0.01) == [])
            #expect(plan.tick(jitter: 0, now: deadline) == [.connect])
            now = deadline
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_800, 1_800, 1_800])
        plan.ended("no", jitter: 0, now: now)
        #expect(plan.nextDeadline == now + 900)
        // A connection that was open for long enough resets the number of failures.
        _ = plan.tick(jitter: 0, now: now + 900)
        plan.connected(keepAlive: 0, now: now + 900)
        plan.ended("gone", jitter: 1, now: now + 1_000)
        #expect(plan.nextDeadline == now + 1_005 && plan.trouble == "gone")
    }

    @Test func `R4: The plan waits as long as the gateway asks, and slowly retries permanent failures`() {
        var plan = Self.open()
        plan.ended("stops", .shutdown, retryAfter: 100, jitter: 0.5, now: 10)
        #expect(plan.nextDeadline == 135)
        for code in [RefusalCode.notAuthenticated, .version, .replaced] {
            var plan = Self.open()
            plan.ended("no", code, jitter: 0, now: 10)
            #expect(plan.nextDeadline == 910)
        }
    }

    @Test func `R4: The plan connects at once on another network, whatever pause it was in`() {
        var plan = Self.open()
        #expect(plan.apply(Self.conditions("home"), now: 1) == [])
        #expect(plan.apply(Self.conditions("train"), now: 2) == [.connect])
        for _ in 0..<8 {
            plan.ended("no", jitter: 1, now: 3)
            _ = plan.tick(jitter: 0, now: 1e5)
        }
        plan.ended("no", jitter: 1, now: 1e5)
        #expect(plan.apply(Self.conditions("home"), now: 1e5 + 1) == [.connect])
        plan.ended("no", jitter: 1, now: 1e5 + 2)
        #expect(plan.nextDeadline == 1e5 + 7, "its failures are not the old network's")
        #expect(plan.apply(Self.conditions("home", isAvailable: false), now: 1e5 + 3) == [])
        #expect(plan.phase == .offline && plan.nextDeadline == nil)
        #expect(plan.apply(Self.conditions("home"), now: 1e5 + 4) == [.connect])
    }

    @Test func `R4: A keep-alive is sent at once when the machine wakes`() {
        var asleep = Self.conditions()
        asleep.isSleeping = true
        var plan = Self.open()
        #expect(plan.apply(asleep, now: 10) == [])
        let actions = plan.apply(Self.conditions(), now: 10_000)
        #expect(actions == [.ping(360)])
        #expect(plan.apply(Self.conditions(), now: 10_001) == [], "once")
        // Silence during sleep does not show that the network has failed.
        #expect(plan.tick(jitter: 0, now: 10_020) == [.connect])
        #expect(plan.keepAlive == KeepAliveInterval())
        plan.ended("no", jitter: 1, now: 10_021)
        #expect(plan.apply(asleep, now: 10_022) == [])
        #expect(plan.apply(Self.conditions(), now: 10_023) == [.connect])
    }

    @Test func `R4: A keep-alive is sent at once if the count of sleeps has grown`() {
        var plan = Self.open()
        var woken = Self.conditions()
        woken.sleeps = 1
        #expect(plan.apply(woken, now: 10_000) == [.ping(360)])
        #expect(plan.apply(woken, now: 10_001) == [], "once")
        // Silence during sleep does not show that the network has failed.
        #expect(plan.tick(jitter: 0, now: 10_020) == [.connect])
        #expect(plan.keepAlive == KeepAliveInterval())
    }

    @Test func `R4: Keep-alive intervals grow with each answer, and shrink below an interval that failed`() {
        var plan = Self.open()
        var now = 0.0
        for _ in 0..<8 {
            now += plan.interval
            #expect(plan.nextDeadline == now)
            guard case .ping(let next)? = plan.tick(jitter: 0, now: now).first else {
                Issue.record("no keep-alive")
                return
            }
            plan.answered(now: now)
            plan.heard(now)
            // The gateway waits one and a half times as long.
            #expect(plan.interval <= Double(next) * 1.5 + 30)
        }
        #expect(plan.interval == Double(KeepAliveInterval.longest))
        now += plan.interval
        _ = plan.tick(jitter: 0, now: now)
        #expect(plan.tick(jitter: 0, now: now + ConnectionPlan.answerTimeout) == [.connect])
        plan.connected(keepAlive: 0, now: now + 30)
        #expect(plan.interval < Double(KeepAliveInterval.longest))
    }

    @Test func `R4: A keep-alive that is due soon is sent when the device is awake for other work`() {
        var plan = Self.open()
        #expect(plan.isAwakeAnyway(now: 100) == [])
        #expect(plan.isAwakeAnyway(now: 130) == [.ping(360)])
        plan.answered(now: 131)
        plan.heard(131)
        #expect(plan.nextDeadline.map { abs($0 - 371) < 1e-6 } == true)
    }

    @Test func `R4: The plan gives up an attempt that hangs`() {
        var plan = ConnectionPlan()
        _ = plan.want(true, now: 0)
        #expect(plan.tick(jitter: 0, now: 59) == [])
        #expect(plan.tick(jitter: 0, now: 60) == [.disconnect])
        #expect(plan.isConnected == false && plan.trouble?.isEmpty == false)
    }

    /// A test with random inputs: two attempts never overlap, an attempt needs a network and a request, and a pause
    /// comes before each repeated attempt.
    @Test(arguments: 0..<60)
    func `R4: In random walks the plan makes one attempt at a time, with pauses in between`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var plan = ConnectionPlan()
        var now = 0.0
        var isThere = true
        var isWanted = false
        var attempts: [Double] = []
        for _ in 0..<400 {
            now += Double.random(in: 0...200, using: &random)
            var actions: [ConnectionPlan.Action] = []
            var isForced = false
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                isWanted.toggle()
                isForced = true
                actions = plan.want(isWanted, now: now)
            case 1:
                isThere = Bool.random(using: &random)
                isForced = true
                actions = plan.apply(
                    Self.conditions(["a", "b"].randomElement(using: &random), isAvailable: isThere), now: now)
            case 2: plan.connected(keepAlive: 600, now: now)
            case 3: plan.ended("no", jitter: 0.5, now: now)
            case 4:
                plan.answered(now: now)
                plan.heard(now)
            case 5: actions = plan.isAwakeAnyway(now: now)
            default:
                // A connection that was lost in silence is replaced once without a pause.
                if case .open = plan.phase { isForced = true }
                actions = plan.tick(jitter: 0.5, now: now)
            }
            if actions.contains(.connect) {
                #expect(isThere && isWanted, "seed \(seed)")
                if !isForced, let last = attempts.last { #expect(now - last >= ConnectionPlan.firstPause / 2) }
                attempts.append(now)
            }
            if plan.isConnected { #expect(isThere && isWanted, "seed \(seed)") }
            #expect((plan.phase == .off) == !isWanted)
            if case .waiting = plan.phase { #expect(plan.nextDeadline != nil) }
            if plan.isConnected { #expect((plan.nextDeadline ?? .infinity) < now + 2_000) }
        }
    }
}
