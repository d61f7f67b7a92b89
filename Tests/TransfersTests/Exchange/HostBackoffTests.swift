import NightshiftAPI
import Testing
import Transfers

@Suite struct HostBackoffTests {
    @Test func `Simultaneous failures count as one`() {
        var host = HostBackoff()
        for _ in 0..<6 { #expect(host.admit(now: 10) == true) }
        for _ in 0..<6 { host.failed(began: 10, at: 12, random: 0.5) }
        #expect(host.failures == 1)
        #expect(host.blockedUntil(12) == 12.5)
        #expect(host.admit(now: 12.4) == false)
    }

    @Test func `The host admits only one probe after a pause`() {
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
        host.succeeded(began: 0)
        #expect(host.isOpen && host.failures == 0)
        for _ in 0..<2 { #expect(host.admit(now: 3) == true) }
    }

    @Test func `A new probe replaces an abandoned one`() {
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

    @Test func `The host admits one probe immediately after a refusal`() {
        var host = HostBackoff()
        for task in 1...6 as ClosedRange<Int64> {
            host.refused(TaskID(task), until: 3_610, began: 9, at: 10)
            // Exchanges that began before the refusal do not change the state, whether they were refused or answered.
            #expect(host.isRefused && host.blockedUntil(10) == nil)
        }
        host.succeeded(began: 9)
        #expect(host.isRefused && !host.isOpen)
        #expect(host.admit(now: 10) == true)
        #expect(host.admit(now: 10) == false)
        host.succeeded(began: 9)
        #expect(host.isProbing)
        host.succeeded(began: 10)
        #expect(host.isOpen && !host.isRefused)
    }

    @Test func `Each further refused task lengthens the pause`() {
        var host = HostBackoff()
        var now = 10.0
        func refuse(_ task: Int64, for seconds: Double) -> Double {
            #expect(host.admit(now: now) == true)
            host.refused(TaskID(task), until: now + seconds, began: now, at: now)
            let pause = (host.blockedUntil(now) ?? now) - now
            host.succeeded(began: now - 1)
            #expect(!host.isOpen && (pause == 0 || host.admit(now: now + pause * 0.9) == false))
            now += pause
            return pause
        }
        let pauses = (1...14 as ClosedRange<Int64>).map { refuse($0, for: 3_600) }
        #expect(pauses == [0] + (0..<12).map { Double(1 << $0) } + [3_600])
        // From now on the service pauses for as long as the host requests.
        #expect(refuse(99, for: 3_600) == 3_600 && refuse(1, for: 5) == 5)
    }

    @Test func `A task that is always refused does not block the others`() {
        var host = HostBackoff()
        for number in 0..<20 {
            let now = Double(number) * 60
            #expect(host.admit(now: now) == true)
            host.refused(TaskID(1), until: now + 60, began: now, at: now)
            #expect(host.blockedUntil(now) == nil && !host.isProbing)
        }
    }

    @Test func `A pause grows to at most five minutes`() {
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

    /// A test of random tasks with an intermittent host, with a check of the invariants.
    @Test func `HostBackoff keeps its rules for random tasks and an intermittent host`() {
        let seed = ExchangeRandom.printedSeed("randomWalk")
        var random = ExchangeRandom(seed: seed)
        for _ in 0..<500 {
            var host = HostBackoff()
            var now = 0.0
            var running: [Double] = []
            /// The last exchange that was allowed after a pause, until it ends.
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
                    let began = running.remove(at: index)
                    let until = now + Double(random.number(0..<100))
                    let before = host
                    host.refused(TaskID(Int64(random.number(0..<5))), until: until, began: began, at: now)
                    always(!host.isOpen, "seed \(seed)")
                    if before.isOpen || began == probe && before.isProbing {
                        always(host.isRefused && !host.isProbing, "seed \(seed)")
                        always(host.blockedUntil(now) ?? 0 <= until, "seed \(seed)")
                        probe = nil
                        admittedInTrouble = 0
                    } else {
                        always(host == before, "seed \(seed)")
                    }
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
                    let began = running.remove(at: index)
                    let before = host
                    host.succeeded(began: began)
                    always(host.isOpen || before.isRefused && host == before, "seed \(seed)")
                    if host.isOpen {
                        probe = nil
                        admittedInTrouble = 0
                    }
                }
            }
        }
    }
}
