import Foundation
import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// R10: Tests of the choice of processing and continued tasks that run, and of the reasons why others wait.
@Suite struct ProcessingPlannerTests {
    private typealias Request = ProcessingPlanner.Request

    private static let now = 1_800_000_000.0
    private static let hour = 3_600.0
    private static let day = 86_400.0

    private static func request(
        _ identifier: String = "work", of app: AppID = .feed, network: Bool? = nil, power: Bool? = nil,
        begin: Double? = nil, submitted: Double = now - hour, isRunning: Bool = false, lastUse: Double? = now - hour
    ) -> Request {
        var task = ScheduledTask(identifier: identifier, kind: .processing)
        task.requiresNetwork = network
        task.requiresPower = power
        task.earliestBegin = begin.map { Date(timeIntervalSince1970: $0) }
        var request = Request(app: app, task: task, submitted: submitted, isRunning: isRunning)
        request.lastUse = lastUse
        return request
    }

    private static func device(_ change: (inout DeviceConditions) -> Void = { _ in }) -> DeviceConditions {
        var device = DeviceConditions()
        device.isIdle = true
        change(&device)
        return device
    }

    private static func plan(
        _ requests: Request..., device: DeviceConditions = device(), isOn: Bool = true
    ) -> ProcessingPlanner.Plan {
        ProcessingPlanner.plan(requests, device, isOn: isOn, now: now)
    }

    @Test func `R10: A task on external power begins as soon as nobody uses the device`() {
        let request = Self.request(network: true, power: true, begin: Self.now)
        #expect(Self.plan(request).begin == [request.key])
        let waits = Self.plan(request, device: DeviceConditions())
        #expect(waits.begin == [] && waits.holds[request.key]?.hold == .inUse && waits.lookAgain == nil)
    }

    @Test func `R10: A task waits for the requirements that the device does not meet`() {
        let battery = Self.device { $0.power = .battery }
        let table: [(Request, DeviceConditions, ProcessingPlanner.Hold, Double?)] = [
            (Self.request(begin: Self.now + 5), Self.device(), .notYet, Self.now + 5),
            (Self.request(), Self.device { $0.isSleeping = true }, .machineSleeps, nil),
            (Self.request(network: true), Self.device { $0.network.isAvailable = false }, .noNetwork, nil),
            (Self.request(power: true), battery, .noPower, nil),
            (Self.request(), battery, .timeout, Self.now - Self.hour + Self.day),
            (Self.request(submitted: Self.now - 2 * Self.day, lastUse: nil), battery, .unused, nil),
            (
                Self.request(submitted: Self.now - 2 * Self.day, lastUse: Self.now - 8 * Self.day), battery, .unused,
                nil
            ),
            (
                Self.request(submitted: Self.now - 2 * Self.day),
                Self.device {
                    $0.power = .battery
                    $0.batteryPercentage = 19
                }, .batteryLow, nil
            ),
            (
                Self.request(submitted: Self.now - 2 * Self.day),
                Self.device {
                    $0.power = .battery
                    $0.isLowPower = true
                }, .lowPower, nil
            ),
        ]
        for (request, device, hold, until) in table {
            let plan = Self.plan(request, device: device)
            #expect(plan.begin == [] && plan.holds[request.key]?.hold == hold, "\(hold)")
            #expect(plan.holds[request.key]?.until == until && plan.lookAgain == until, "\(hold)")
        }
        let off = Self.plan(Self.request(), isOn: false)
        #expect(off.holds.values.map(\.hold) == [.switchedOff])
    }

    @Test func `R10: The task of a recently used app is tried on battery within two days`() {
        let battery = Self.device { $0.power = .battery }
        let old = Self.request(submitted: Self.now - Self.day)
        #expect(Self.plan(old, device: battery).begin == [old.key])
        // The period begins when the task could have begun.
        let later = Self.request(begin: Self.now - Self.hour, submitted: Self.now - 3 * Self.day)
        #expect(Self.plan(later, device: battery).holds[later.key]?.until == Self.now - Self.hour + Self.day)
        // A task that needs no network runs without one.
        let alone = Self.request(submitted: Self.now - Self.day)
        let offline = Self.device {
            $0.power = .battery
            $0.network.isAvailable = false
        }
        #expect(Self.plan(alone, device: offline).begin == [alone.key])
    }

    @Test func `R10: Each app runs at most one task, and the device two, the longest waiting first`() {
        let first = Self.request("a", submitted: Self.now - 30)
        let second = Self.request("b", submitted: Self.now - 20)
        let other = Self.request("c", of: .mail, submitted: Self.now - 10)
        let third = Self.request("d", of: .game, submitted: Self.now - 5)
        let plan = Self.plan(third, second, other, first)
        #expect(plan.begin == [first.key, other.key])
        #expect(plan.holds[second.key]?.hold == .othersRun && plan.holds[third.key]?.hold == .othersRun)
        var (one, two) = (first, other)
        (one.isRunning, two.isRunning) = (true, true)
        #expect(Self.plan(one, two, third).begin == [])
        #expect(Self.plan(one, third).begin == [third.key])
    }

    @Test func `R10: A running task ends when the device is used or a requirement is lost`() {
        let runs = Self.request(network: true, power: true, isRunning: true)
        #expect(Self.plan(runs).expire == [:])
        let table: [(DeviceConditions, ProcessingPlanner.End)] = [
            (DeviceConditions(), .userReturned),
            (Self.device { $0.isSleeping = true }, .machineSleeps),
            (Self.device { $0.power = .battery }, .powerLost),
            (Self.device { $0.network.isAvailable = false }, .networkLost),
        ]
        for (device, end) in table { #expect(Self.plan(runs, device: device).expire == [runs.key: end]) }
        // A task that did not require external power continues without it.
        let modest = Self.request(isRunning: true)
        #expect(Self.plan(modest, device: Self.device { $0.power = .battery }).expire == [:])
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `R10: Each waiting task begins or has a reason to wait, and at most two tasks run`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
        for _ in 0..<60 {
            let device = Self.device {
                $0.isIdle = !chance(4)
                $0.isSleeping = chance(8)
                $0.power = chance(2) ? .battery : .external
                $0.network.isAvailable = !chance(3)
            }
            let requests = (0..<8).map { number in
                Self.request(
                    "\(number)", of: [AppID.feed, .mail, .game][number % 3], network: chance(2), power: chance(2),
                    begin: chance(2) ? Self.now + (chance(2) ? 60 : -60) : nil,
                    submitted: Self.now - Double(Int.random(in: 0...200_000, using: &random)),
                    isRunning: number < 2 && chance(2))
            }
            let plan = ProcessingPlanner.plan(requests, device, isOn: true, now: Self.now)
            let running = requests.filter(\.isRunning)
            let all = running.map(\.key) + plan.begin
            #expect(all.count <= ProcessingPlanner.most && Set(all.map(\.app)).count == all.count)
            let waiting = Set(requests.filter { !$0.isRunning }.map(\.key))
            #expect(Set(plan.begin).union(plan.holds.keys) == waiting)
            #expect(Set(plan.begin).isDisjoint(with: plan.holds.keys))
            #expect(Set(plan.expire.keys).isSubset(of: running.map(\.key)))
            #expect(plan.begin.isEmpty || device.isIdle && !device.isSleeping)
            #expect(plan.lookAgain.map { $0 > Self.now } ?? true)
        }
    }

    @Test func `R10: Continued tasks begin in order while the limit allows another task`() {
        let keys = (0..<6).map { ProcessingPlanner.Key(app: .feed, identifier: "a.\($0)") }
        let waiting = keys.enumerated().map {
            ContinuedAdmission.Request(key: $0.element, submitted: Self.now + Double($0.offset))
        }
        let most = Limits.runningContinuedTasks
        #expect(ContinuedAdmission.admitted(waiting.reversed(), running: []) == Array(keys.prefix(most)))
        #expect(ContinuedAdmission.admitted(waiting, running: [keys[0], keys[1]]) == [keys[2], keys[3]])
        #expect(ContinuedAdmission.admitted(waiting, running: Set(keys.prefix(most))) == [])
        #expect(ContinuedAdmission.admitted([], running: []) == [])
    }
}
