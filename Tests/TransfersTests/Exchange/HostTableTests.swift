import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests that tasks that would fail for the same cause wait together, and that all others continue.
@Suite struct HostTableTests {
    private typealias Way = HostTable.Way

    private static let direct = Way(origin: "http://a:80", proxy: nil)
    private static let proxied = Way(origin: "http://a:80", proxy: "http://user:secret@proxy:3128")
    private static let other = Way(origin: "http://b:80", proxy: nil)
    private static let otherProxied = Way(origin: "http://b:80", proxy: "http://user:secret@proxy:3128")
    private static let down = TransferFailure(.cannotConnect, "Down.")

    private static func table(_ way: Way, _ attribution: FailureAttribution, until: Double? = nil) -> HostTable {
        var table = HostTable()
        _ = table.admit(way, now: 0)
        table.failed(
            way, attribution, down, of: TaskID(1), began: 0, refusedUntil: until, now: .at(10), random: 0.999_999)
        return table
    }

    /// Makes another task send a request that is refused as well.
    private static func refuse(_ table: inout HostTable, _ way: Way, of task: Int64 = 2, until: Double) {
        let admitted = table.admit(way, now: 10)
        #expect(admitted)
        table.failed(
            way, .origin, down, of: TaskID(task), began: 10, refusedUntil: until, now: .at(10), random: 0.5)
    }

    private static func paused(_ table: HostTable) -> [Bool] {
        [direct, proxied, other, otherProxied].map { table.allowance($0, 10) == 0 }
    }

    @Test func `A failure pauses only the routes that share the failure's cause`() {
        #expect(Self.paused(Self.table(Self.direct, .address)) == [true, false, false, false])
        #expect(Self.paused(Self.table(Self.proxied, .address)) == [false, true, false, false])
        #expect(Self.paused(Self.table(Self.proxied, .proxy)) == [false, true, false, true])
        // This proxy comes from the environment.
        #expect(Self.paused(Self.table(Self.direct, .proxy)) == [true, false, false, false])
        var refusing = Self.table(Self.direct, .origin, until: 30)
        #expect(Self.paused(refusing) == [false, false, false, false])
        Self.refuse(&refusing, Self.proxied, until: 30)
        #expect(Self.paused(refusing) == [true, true, false, false])
        #expect(Self.paused(Self.table(Self.direct, .request)) == [false, false, false, false])
        #expect(Self.paused(Self.table(Self.direct, .nobody)) == [false, false, false, false])
    }

    @Test func `After a pause the table admits one probe, and the probe's response admits all tasks`() {
        var table = Self.table(Self.direct, .address)
        #expect(table.blockedUntil(Self.direct, 10).map { $0 > 10.9 && $0 < 11 } == true)
        #expect(table.allowance(Self.direct, 11) == 1)
        #expect(table.admit(Self.direct, now: 11) == true)
        #expect(table.admit(Self.direct, now: 11) == false)
        #expect(table.allowance(Self.direct, 11) == 0)
        let isNews = table.answered(Self.direct, began: 11)
        #expect(isNews)
        #expect(table.allowance(Self.direct, 11) == .max)
    }

    @Test func `A probe that fails because of its own request or the origin's refusal ends the pause`() {
        for attribution in [FailureAttribution.request, .origin] {
            var table = Self.table(Self.direct, .address)
            _ = table.admit(Self.direct, now: 12)
            table.failed(
                Self.direct, attribution, Self.down, of: TaskID(2), began: 12, refusedUntil: 12, now: .at(13),
                random: 0.5)
            #expect(table.allowance(Self.direct, 13) == (attribution == .request ? .max : 1))
        }
    }

    @Test func `The table admits another probe after a probe fails for an unknown cause`() {
        var table = Self.table(Self.proxied, .address)
        _ = table.admit(Self.proxied, now: 12)
        table.failed(
            Self.proxied, .nobody, Self.down, of: TaskID(2), began: 12, refusedUntil: nil, now: .at(13), random: 0.5)
        #expect(table.allowance(Self.proxied, 13) == 1)
        _ = table.admit(Self.proxied, now: 14)
        // The failure is attributed to the proxy now, so the state of the origin is unknown.
        table.failed(
            Self.proxied, .proxy, Self.down, of: TaskID(3), began: 14, refusedUntil: nil, now: .at(15),
            random: 0.999_999)
        #expect(table.allowance(Self.proxied, 15) == 0)
        #expect(table.allowance(Self.proxied, 16) == 1)
    }

    @Test func `A failure to reach the origin through a proxy shows that the proxy works`() {
        var table = Self.table(Self.proxied, .proxy)
        _ = table.admit(Self.proxied, now: 12)
        table.failed(
            Self.proxied, .address, Self.down, of: TaskID(2), began: 12, refusedUntil: nil, now: .at(13),
            random: 0.999_999)
        #expect(table.allowance(Self.proxied, 13) == 0)
        #expect(table.allowance(Self.otherProxied, 13) == .max)
    }

    @Test func `Only pauses that a server requested outlast a network change`() {
        var table = Self.table(Self.direct, .origin, until: 90)
        Self.refuse(&table, Self.direct, until: 90)
        table.failed(
            Self.other, .address, Self.down, of: TaskID(3), began: 10, refusedUntil: nil, now: .at(10), random: 0.5)
        table.networkReturned()
        #expect(Self.paused(table) == [true, true, false, false])
        let pause = table.pause(Self.direct, 10)
        #expect(pause?.until == 11 && pause?.since == 1_010 && pause?.failure == Self.down)
        table.forget(Self.proxied)
        #expect(Self.paused(table) == [false, false, false, false])
    }

    @Test func `The list of pauses does not contain proxy credentials`() {
        var table = Self.table(Self.proxied, .proxy)
        for task in [2, 3] as [Int64] { Self.refuse(&table, Self.other, of: task, until: 70) }
        #expect(table.paused(10).map(\.origin) == ["http://b:80", "http://proxy:3128"])
        #expect(table.paused(100).isEmpty)
    }

    @Test func `An origin that answers other tasks is not paused by its refusals of one task`() {
        var table = HostTable()
        func refuse(_ task: Int64, at time: Double) {
            table.failed(
                Self.direct, .origin, Self.down, of: TaskID(task), began: time, refusedUntil: time + 3_600,
                now: .at(time), random: 0.5)
        }
        for _ in 0..<2 { _ = table.answered(Self.direct, began: 0) }
        // A response with an error status shows that the origin answers. An attempt that never reached the origin does
        // not.
        let error = TransferFailure(.serverUnavailable, "500", status: 500)
        for (attribution, failure) in [(FailureAttribution.request, error), (.request, Self.down), (.nobody, error)] {
            table.failed(
                Self.direct, attribution, failure, of: TaskID(9), began: 0, refusedUntil: nil, now: .at(1), random: 0.5)
        }
        for task in 1...3 as ClosedRange<Int64> {
            refuse(task, at: 1)
            #expect(table.allowance(Self.direct, 1) == .max)
        }
        refuse(4, at: 2)
        #expect(table.allowance(Self.direct, 2) == 1 && table.blockedUntil(Self.direct, 2) == nil)
        // Responses to earlier requests give no information about the origin, neither now nor later.
        for _ in 0..<9 { _ = table.answered(Self.direct, began: 1) }
        #expect(table.allowance(Self.direct, 2) == 1)
        _ = table.admit(Self.direct, now: 3)
        refuse(5, at: 3)
        #expect(table.blockedUntil(Self.direct, 3) == 4)
        _ = table.admit(Self.direct, now: 4)
        let isNews = table.answered(Self.direct, began: 4)
        #expect(isNews && table.allowance(Self.direct, 4) == .max)
    }

    @Test func `An origin with a thousand responses is limited after seven refusals`() {
        var table = HostTable()
        for _ in 0..<1_000 { _ = table.answered(Self.direct, began: 0) }
        var alone = 0
        while table.allowance(Self.direct, 1) == .max {
            table.failed(
                Self.direct, .origin, Self.down, of: TaskID(Int64(alone)), began: 0, refusedUntil: 90, now: .at(1),
                random: 0.5)
            alone += 1
        }
        #expect(alone == 7)
        for number in 0...HostTable.answeringOrigins {
            _ = table.answered(Way(origin: "http://\(number):80", proxy: nil), began: 0)
        }
    }

    /// A test of random tasks on few routes. No task fails twice for the same cause, and no task waits for ever.
    @Test func `Under random failures no task fails twice for one cause, and no task waits for ever`() {
        let seed = ExchangeRandom.printedSeed("randomWalk")
        var random = ExchangeRandom(seed: seed)
        let ways = [Self.direct, Self.proxied, Self.other, Self.otherProxied]
        for _ in 0..<300 {
            var table = HostTable()
            var now = 0.0
            var running: [(way: Way, began: Double)] = []
            for _ in 0..<200 {
                now += Double(random.number(0..<50)) / 10
                let way = ways[random.number(0..<4)]
                let allowance = table.allowance(way, now)
                if random.number(0..<2) == 0 {
                    let admitted = table.admit(way, now: now)
                    always(admitted == (allowance > 0), "seed \(seed)")
                    if admitted {
                        running.append((way, now))
                        // A probe runs alone on its route.
                        always(allowance == .max || table.allowance(way, now) == 0, "seed \(seed)")
                    }
                } else if !running.isEmpty {
                    let (way, began) = running.remove(at: random.number(0..<running.count))
                    switch random.number(0..<7) {
                    case 0:
                        _ = table.answered(way, began: began)
                        // After a refusal, only exchanges that began later count.
                        always(
                            table.allowance(way, now) > 0 || table.blockedUntil(way, now) != nil
                                || running.contains { $0.began > began }, "seed \(seed)")
                    case 1: table.abandoned(way, began: began)
                    case let number:
                        let attribution = [FailureAttribution.proxy, .address, .origin, .request, .nobody][number - 2]
                        table.failed(
                            way, attribution, Self.down, of: TaskID(Int64(random.number(0..<5))), began: began,
                            refusedUntil: now + 5, now: .at(now), random: 0.5)
                    }
                }
            }
            // No task runs now. Each pause ends when its time has passed, and one response clears the pause.
            for (way, began) in running { table.abandoned(way, began: began) }
            for way in ways {
                let later = (table.blockedUntil(way, now) ?? now) + 0.001
                always(table.allowance(way, later) > 0, "seed \(seed)")
                always(table.admit(way, now: later), "seed \(seed)")
                _ = table.answered(way, began: later)
                always(table.allowance(way, later) == .max, "seed \(seed)")
            }
        }
    }

    @Test func `The table remembers the limits of a bounded number of origins while the limits are valid`() {
        var table = HostTable()
        table.limit("http://a:80", to: 2, until: 10, now: 0)
        #expect(table.mostConnections("http://a:80", now: 5) == 2)
        #expect(table.mostConnections("http://b:80", now: 5) == nil)
        #expect(table.mostConnections("http://a:80", now: 11) == nil)
        table.learn(.tus, of: "http://a:80")
        #expect(table.uploadProtocol(of: "http://a:80") == nil)
        for number in 0..<HostTable.knownUploadProtocols { table.learn(.plain, of: "http://\(number):80") }
        #expect(table.uploadProtocol(of: "http://0:80") == .plain)
        table.learn(.draft(.latest), of: "http://one-more:80")
        #expect(table.uploadProtocol(of: "http://0:80") == nil)
        #expect(table.uploadProtocol(of: "http://one-more:80") == .draft(.latest))
    }
}

extension ClockReading {
    fileprivate static func at(_ seconds: Double) -> ClockReading {
        ClockReading(bootID: "boot", bootSeconds: seconds, wallSeconds: 1_000 + seconds)
    }
}
