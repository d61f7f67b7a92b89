import NightshiftAPI
import Store
import Testing
import Transfers

/// Tasks that meet the same trouble wait together, and all others go on.
@Suite struct HostTableTests {
    private typealias Way = HostTable.Way

    private static let direct = Way(origin: "http://a:80", proxy: nil)
    private static let proxied = Way(origin: "http://a:80", proxy: "http://user:secret@proxy:3128")
    private static let other = Way(origin: "http://b:80", proxy: nil)
    private static let otherProxied = Way(origin: "http://b:80", proxy: "http://user:secret@proxy:3128")
    private static let down = TransferFailure(.cannotConnect, "Down.")

    private static func table(_ way: Way, _ blame: Blame, until: Double? = nil) -> HostTable {
        var table = HostTable()
        _ = table.admit(way, now: 0)
        table.failed(way, blame, down, began: 0, refusedUntil: until, now: .at(10), random: 0.999_999)
        return table
    }

    private static func paused(_ table: HostTable) -> [Bool] {
        [direct, proxied, other, otherProxied].map { table.allowance($0, 10) == 0 }
    }

    @Test func whoWaits() {
        #expect(Self.paused(Self.table(Self.direct, .address)) == [true, false, false, false])
        #expect(Self.paused(Self.table(Self.proxied, .address)) == [false, true, false, false])
        #expect(Self.paused(Self.table(Self.proxied, .proxy)) == [false, true, false, true])
        // A proxy of the environment.
        #expect(Self.paused(Self.table(Self.direct, .proxy)) == [true, false, false, false])
        #expect(Self.paused(Self.table(Self.direct, .origin, until: 30)) == [true, true, false, false])
        #expect(Self.paused(Self.table(Self.direct, .request)) == [false, false, false, false])
        #expect(Self.paused(Self.table(Self.direct, .nobody)) == [false, false, false, false])
    }

    @Test func oneProbeGoesFirst() {
        var table = Self.table(Self.direct, .address)
        #expect(table.blockedUntil(Self.direct, 10).map { $0 > 10.9 && $0 < 11 } == true)
        #expect(table.allowance(Self.direct, 11) == 1)
        #expect(table.admit(Self.direct, now: 11) == true)
        #expect(table.admit(Self.direct, now: 11) == false)
        #expect(table.allowance(Self.direct, 11) == 0)
        let isNews = table.answered(Self.direct)
        #expect(isNews)
        #expect(table.allowance(Self.direct, 11) == .max)
    }

    @Test func aProbeThatFailsForItselfEndsThePause() {
        for blame in [Blame.request, .origin] {
            var table = Self.table(Self.direct, .address)
            _ = table.admit(Self.direct, now: 12)
            table.failed(Self.direct, blame, Self.down, began: 12, refusedUntil: 12, now: .at(13), random: 0.5)
            #expect(table.allowance(Self.direct, 13) == (blame == .request ? .max : 1))
        }
    }

    @Test func aProbeThatTellsNothingIsFollowedByAnother() {
        var table = Self.table(Self.proxied, .address)
        _ = table.admit(Self.proxied, now: 12)
        table.failed(Self.proxied, .nobody, Self.down, began: 12, refusedUntil: nil, now: .at(13), random: 0.5)
        #expect(table.allowance(Self.proxied, 13) == 1)
        _ = table.admit(Self.proxied, now: 14)
        // The proxy is to blame now, and of the origin nothing is known.
        table.failed(Self.proxied, .proxy, Self.down, began: 14, refusedUntil: nil, now: .at(15), random: 0.999_999)
        #expect(table.allowance(Self.proxied, 15) == 0)
        #expect(table.allowance(Self.proxied, 16) == 1)
    }

    @Test func aWayThatFailsBehindAProxyClearsTheProxy() {
        var table = Self.table(Self.proxied, .proxy)
        _ = table.admit(Self.proxied, now: 12)
        table.failed(Self.proxied, .address, Self.down, began: 12, refusedUntil: nil, now: .at(13), random: 0.999_999)
        #expect(table.allowance(Self.proxied, 13) == 0)
        #expect(table.allowance(Self.otherProxied, 13) == .max)
    }

    @Test func onlyWhatAServerAskedForOutlivesTheNetwork() {
        var table = Self.table(Self.direct, .origin, until: 90)
        table.failed(Self.other, .address, Self.down, began: 10, refusedUntil: nil, now: .at(10), random: 0.5)
        table.networkReturned()
        #expect(Self.paused(table) == [true, true, false, false])
        let pause = table.pause(Self.direct, 10)
        #expect(pause?.until == 90 && pause?.since == 1_010 && pause?.failure == Self.down)
        table.forget(Self.proxied)
        #expect(Self.paused(table) == [false, false, false, false])
    }

    @Test func aListOfPausesNamesNoSecret() {
        var table = Self.table(Self.proxied, .proxy)
        table.failed(Self.other, .origin, Self.down, began: 10, refusedUntil: 70, now: .at(10), random: 0.5)
        #expect(table.paused(10).map(\.origin) == ["http://b:80", "http://proxy:3128"])
        #expect(table.paused(100).isEmpty)
    }

    /// Random tasks on few ways: what no task may meet twice, and what may not stop for ever.
    @Test func randomWalk() {
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
                        // A probe is alone.
                        always(allowance == .max || table.allowance(way, now) == 0, "seed \(seed)")
                    }
                } else if !running.isEmpty {
                    let (way, began) = running.remove(at: random.number(0..<running.count))
                    switch random.number(0..<7) {
                    case 0:
                        _ = table.answered(way)
                        always(table.allowance(way, now) > 0 || table.blockedUntil(way, now) != nil, "seed \(seed)")
                    case 1: table.abandoned(way, began: began)
                    case let number:
                        let blame = [Blame.proxy, .address, .origin, .request, .nobody][number - 2]
                        table.failed(
                            way, blame, Self.down, began: began, refusedUntil: now + 5, now: .at(now), random: 0.5)
                    }
                }
            }
            // Nothing runs: whatever is paused opens by time alone, and one answer clears it.
            for (way, began) in running { table.abandoned(way, began: began) }
            for way in ways {
                let later = (table.blockedUntil(way, now) ?? now) + 0.001
                always(table.allowance(way, later) > 0, "seed \(seed)")
                always(table.admit(way, now: later), "seed \(seed)")
                _ = table.answered(way)
                always(table.allowance(way, later) == .max, "seed \(seed)")
            }
        }
    }

    @Test func `What origins take is remembered, as long as it holds and for as many as need be`() {
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
