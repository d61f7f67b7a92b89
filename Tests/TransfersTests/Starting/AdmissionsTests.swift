import NightshiftAPI
import Scheduler
import Store
import Testing
import Transfers

/// What the service keeps from one decision over starting to the next.
@Suite struct AdmissionsTests {
    @Test func `One admission at a time, and one more for all who ask meanwhile`() {
        var loop = PumpLoop()
        #expect(loop.begin() == true)
        #expect(loop.next(isStopping: false) == true)
        #expect(loop.begin() == false)
        #expect(loop.begin() == false)
        #expect(loop.next(isStopping: false) == true)
        #expect(loop.next(isStopping: false) == false)
        #expect(loop.begin() == true)
        loop.request()
        #expect(loop.next(isStopping: true) == false)
    }

    private static func record(lane: Int64, fruitless: Int, connections: Int) -> TaskRecord {
        var record = TaskRecord(
            session: .terminal, origin: "http://h:80", state: .waiting, priority: 0.5, createdAt: 0,
            request: TaskRequest(url: "http://h/"))
        record.lane = LaneID(rawValue: lane)
        record.fruitless = fruitless
        record.maximumConnections = connections
        return record
    }

    @Test func `Tasks that failed and others take turns where there is one connection`() {
        var turns = AdmissionTurns()
        let (narrow, wide) = (LaneID(rawValue: 1), LaneID(rawValue: 2))
        turns.note(Self.record(lane: 1, fruitless: 0, connections: 1))
        #expect(turns.isOfFailed && turns.isOfFailed(narrow))
        turns.note(Self.record(lane: 1, fruitless: 1, connections: 1))
        #expect(!turns.isOfFailed && !turns.isOfFailed(narrow))
        turns.note(Self.record(lane: 2, fruitless: 0, connections: 2))
        #expect(turns.isOfFailed && !turns.isOfFailed(wide))
        turns.note(Self.record(lane: 1, fruitless: 0, connections: 1))
        turns.keep([wide])
        #expect(!turns.isOfFailed(narrow))
    }

    @Test func `A class of tasks is held since its reason began`() {
        var look = LatestLook()
        let key = HeldClass(rules: TransferRules(), isLoopback: false)
        var now = ClockReading(bootID: "b", bootSeconds: 0, wallSeconds: 100)
        look.note([(key, .network)], now: now)
        now.wallSeconds = 200
        look.note([(key, .network)], now: now)
        #expect(look.heldSince(key) == 100)
        look.note([(key, .expensiveNetwork)], now: now)
        #expect(look.heldSince(key) == 200)
        look.note([], now: now)
        #expect(look.heldSince(key) == nil)
    }

    @Test func `Who keeps windows open hears of the first and the last`() {
        var look = LatestLook()
        let heard = [0, 1, 5, 0, 0].map { look.note(discretionary: $0) }
        #expect(heard == [false, true, false, true, false])
    }

    @Test func `Limits that nobody names stay`() {
        var limits = ServiceLimits()
        #expect(limits.settings == ServiceSettings(rateLimit: nil, maximumTransfers: 32))
        limits = limits.changed(by: ServiceSettings(rateLimit: 1_000))
        limits = limits.changed(by: ServiceSettings(maximumTransfers: 3))
        #expect(limits.settings == ServiceSettings(rateLimit: 1_000, maximumTransfers: 3))
        #expect(limits.changed(by: ServiceSettings(rateLimit: 0)).rateLimit == nil)
        let slow = ServiceSettings(rateLimit: 5)
        #expect(ServiceLimits(slow) == ServiceLimits().changed(by: slow))
    }
}
