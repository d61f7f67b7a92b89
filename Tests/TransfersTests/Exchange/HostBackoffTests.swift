import Testing
import Transfers

@Suite struct HostBackoffTests {
    @Test func failuresOfOneMomentCountOnce() {
        var host = HostBackoff()
        for _ in 0..<6 { #expect(host.admit(now: 10) == true) }
        for _ in 0..<6 { host.failed(began: 10, at: 12, random: 0.5) }
        #expect(host.failures == 1)
        #expect(host.blockedUntil(12) == 12.5)
        #expect(host.admit(now: 12.4) == false)
    }

    @Test func onlyOneProbeIsLetThrough() {
        var host = HostBackoff()
        host.failed(began: 0, at: 0, random: 0.5)
        #expect(host.blockedUntil(0.5) == nil)
        #expect(host.admit(now: 0.5) == true)
        #expect(host.isProbing)
        #expect(host.admit(now: 100) == false)
        host.failed(began: 0, at: 1, random: 0.5)
        #expect(host.isProbing, "an exchange from before the probe says nothing new")
        host.failed(began: 0.5, at: 2, random: 0.5)
        #expect(host.failures == 2)
        #expect(host.blockedUntil(2) == 3)
        #expect(host.admit(now: 3) == true)
        host.succeeded()
        #expect(host.isOpen && host.failures == 0)
        for _ in 0..<2 { #expect(host.admit(now: 3) == true) }
    }

    @Test func abandonedProbeIsReplaced() {
        var host = HostBackoff()
        host.failed(began: 0, at: 0, random: 0.5)
        #expect(host.admit(now: 1) == true)
        host.abandoned(began: 0)
        #expect(host.isProbing)
        host.abandoned(began: 1)
        #expect(!host.isProbing && !host.isOpen)
        #expect(host.admit(now: 1) == true)
        #expect(host.failures == 1)
    }

    @Test func serversWishEndsByTimeOnly() {
        var host = HostBackoff()
        host.refused(until: 30, at: 10)
        host.refused(until: 20, at: 11)
        host.succeeded()
        #expect(host.blockedUntil(11) == 30)
        host.failed(began: 12, at: 12, random: 1)
        #expect(host.blockedUntil(12) == 30)
        host.succeeded()
        #expect(host.admit(now: 29.9) == false)
        #expect(host.admit(now: 30) == true)
        host.refused(until: 40, at: 31)
        #expect(host.blockedUntil(31) == 40)
    }

    @Test func pauseGrowsUntilFiveMinutes() {
        var host = HostBackoff()
        var now = 0.0
        for _ in 0..<20 {
            #expect(host.admit(now: now) == true)
            host.failed(began: now, at: now, random: 0.999_999)
            now = host.blockedUntil(now) ?? now
        }
        host.failed(began: now, at: now, random: 1)
        #expect(host.blockedUntil(now) == now + 300)
    }

    /// Random tasks with a host that comes and goes, held against what everyone may rely on.
    @Test func randomWalk() {
        let seed = ExchangeRandom.printedSeed("randomWalk")
        var random = ExchangeRandom(seed: seed)
        for _ in 0..<500 {
            var host = HostBackoff()
            var now = 0.0
            var running: [Double] = []
            var refusedUntil = 0.0
            /// The exchange that was let through last after a pause, until it ends.
            var probe: Double?
            var admittedInTrouble = 0
            for _ in 0..<200 {
                now += Double(random.number(0..<50)) / 10
                let index = running.isEmpty ? nil : random.number(0..<running.count)
                switch random.number(0..<10) {
                case 0..<4:
                    let wasOpen = host.isOpen
                    let wasProbing = host.isProbing
                    let pause = host.blockedUntil(now)
                    let admitted = host.admit(now: now)
                    always(admitted == (pause == nil && !wasProbing), "seed \(seed)")
                    always(!admitted || now >= refusedUntil, "seed \(seed)")
                    guard admitted else { break }
                    running.append(now)
                    if !wasOpen {
                        always(host.isProbing, "seed \(seed)")
                        probe = now
                        admittedInTrouble += 1
                        always(admittedInTrouble == 1, "seed \(seed)")
                    }
                case 4, 5:
                    guard let index else { break }
                    let began = running.remove(at: index)
                    let before = host
                    host.failed(began: began, at: now, random: Double(random.number(0..<100)) / 100)
                    always(host.failures - before.failures <= 1, "seed \(seed)")
                    always(!host.isOpen, "seed \(seed)")
                    if before.isOpen || began == probe && before.isProbing {
                        always(host.failures == before.failures + 1, "seed \(seed)")
                        always((host.blockedUntil(now) ?? 0) > now, "seed \(seed)")
                        probe = nil
                        admittedInTrouble = 0
                    }
                case 6:
                    guard let index else { break }
                    running.remove(at: index)
                    let until = now + Double(random.number(0..<100))
                    host.refused(until: until, at: now)
                    refusedUntil = max(refusedUntil, until)
                    always(!host.isOpen && !host.isProbing, "seed \(seed)")
                    probe = nil
                    admittedInTrouble = 0
                case 7:
                    guard let index else { break }
                    let began = running.remove(at: index)
                    let wasProbing = host.isProbing
                    host.abandoned(began: began)
                    if wasProbing, began == probe {
                        always(!host.isProbing && host.blockedUntil(now) == nil, "seed \(seed)")
                        probe = nil
                        admittedInTrouble = 0
                    }
                default:
                    guard let index else { break }
                    running.remove(at: index)
                    host.succeeded()
                    always(host.isOpen || now < refusedUntil || host.blockedUntil(now) == nil, "seed \(seed)")
                    if host.isOpen {
                        probe = nil
                        admittedInTrouble = 0
                    }
                }
            }
        }
    }
}
