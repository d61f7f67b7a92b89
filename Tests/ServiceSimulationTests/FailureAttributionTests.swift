import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of failure attribution: a failing task does not delay other tasks.
    @Suite struct FailureAttributionTests {
        @Test func `A task whose URL fails does not delay other tasks`() async {
            await #expect(processExitsWith: .success) {
                for kind in BadTask.allCases where kind != .cutWithoutRanges {
                    await Simulation.run("\(kind)", jitter: 0.99) { world in
                        await world.start()
                        let bad = await world.enqueue(kind.request(world, number: 0))
                        // The bad task has failed several times before the healthy ones are added.
                        await world.advance(by: 60)
                        let healthy = await world.enqueue(
                            (0..<20).map { world.request(Story.serve(world, name: "healthy-\($0)", size: 10_000)) })
                        await world.advance(by: 5)
                        for id in healthy where await world.status(id)?.state != .completed {
                            world.fail("\(kind): \(id) is \(String(describing: await world.status(id)?.wait))")
                        }
                        #expect(await world.status(bad)?.state == .waiting)
                        let reason: WaitReason = kind.isRefused ? .retryAfter : .retry
                        #expect(await world.status(bad)?.wait?.reason == reason)
                    }
                }
            }
        }

        @Test func `Tasks that are refused with a Retry-After do not delay other tasks`() async {
            await #expect(processExitsWith: .success) {
                for kind in BadTask.allCases where kind.isRefused {
                    for badFirst in [true, false] {
                        await Simulation.run("\(kind), first: \(badFirst)", jitter: 0.99) { world in
                            let bad = (0..<4).map { kind.request(world, number: $0) }
                            let healthy = (0..<40).map {
                                world.request(Story.serve(world, name: "healthy-\($0)", size: 10_000))
                            }
                            await world.start()
                            for number in 0..<3 where !badFirst { await world.enqueue(healthy[number]) }
                            await world.enqueue(bad)
                            await world.enqueue(Array(healthy.dropFirst(badFirst ? 0 : 3)))
                            await world.advance(by: 5)
                            #expect(world.ledger.open.count == bad.count, "\(world.ledger.open.count)")
                            // The Retry-After of a URL applies only to that URL.
                            let asked = world.transport.begun.filter { $0.request.url.contains("\(kind)") }
                            let times = Dictionary(grouping: asked, by: \.request.url).mapValues { $0.map(\.time) }
                            let wish = kind == .refusedBriefly ? 3.0 : 3_600
                            #expect(times.count == bad.count)
                            for gap in times.values.flatMap(Story.gaps) { #expect(gap >= wish, "\(times)") }
                        }
                    }
                }
            }
        }

        @Test func `One task probes an unreachable origin after each pause`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("unreachable", jitter: 0.99) { world in
                    world.transport.setWeather { _ in .cannotConnect }
                    await world.start()
                    await world.enqueue(
                        (0..<20).map { world.request(Story.serve(world, name: "file-\($0)", size: 10_000)) })
                    await world.advance(by: 1_200, inspecting: false)
                    // The service makes six attempts at first, and then one probe after each pause of 1, 2, 4, … 256
                    // seconds, and then every 300 seconds.
                    #expect(world.transport.begun.count < 6 + 14)
                    let probes = world.transport.begun.dropFirst(6).map(\.request.url)
                    #expect(Set(probes).count == probes.count, "One task probes again and again: \(probes)")
                    world.transport.setWeather { _ in .normal }
                    let ended = await world.advance(atMost: 400) { world.ledger.open.isEmpty }
                    #expect(ended)
                }
            }
        }

        @Test func `A probe that reaches the origin ends the pause even if the probe's request fails`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("a probe of its own", jitter: 0.99) { world in
                    let script = [.cannotConnect] + Array(repeating: ScriptedBehaviour.status(500), count: 50)
                    let bad = Story.serve(world, name: "bad", size: 10_000, script: script)
                    let good = Story.serve(world, name: "good", size: 10_000)
                    await world.start()
                    await world.enqueue(world.request(bad))
                    // The first attempts get no connection; the probe one second later gets an error response.
                    await world.advance(by: 1.2)
                    #expect(world.transport.begun.count == 2)
                    let id = await world.enqueue(world.request(good))
                    await world.advance(by: 0.5)
                    #expect(await world.status(id)?.state == .completed)
                }
            }
        }

        @Test func `Only one task at a time probes an origin that refuses every request`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("a refusal", jitter: 0.99) { world in
                    let refusal = Array(repeating: ScriptedBehaviour.status(503, retryAfter: "90"), count: 100)
                    let refused = (0..<40).map { Story.serve(world, name: "\($0)", size: 10_000, script: refusal) }
                    let elsewhere = Story.serve(world, host: "elsewhere", size: 10_000)
                    await world.start()
                    await world.enqueue(refused.map { world.request($0) })
                    let other = await world.enqueue(world.request(elsewhere))
                    await world.advance(by: 60)
                    #expect(await world.status(other)?.state == .completed)
                    await world.advance(by: 1_000, inspecting: false)
                    let asked = world.transport.begun.filter { $0.request.url != elsewhere }
                    // The service makes six attempts at first and one more at once. Then it makes one after each pause
                    // of 1, 2, 4, … 64 seconds, and then one after each Retry-After.
                    let gaps = Story.gaps(asked.dropFirst(6).map(\.time))
                    #expect((12...18).contains(gaps.count), "\(gaps)")
                    #expect(zip(gaps, gaps.dropFirst()).allSatisfy { $0 <= $1 + 0.01 }, "\(gaps)")
                    #expect(gaps.dropFirst(7).allSatisfy { $0 >= 90 }, "\(gaps)")
                    for id in world.ledger.open {
                        let reason = await world.status(id)?.wait?.reason
                        #expect(reason == .retryAfter || reason == .hostBackoff, "\(String(describing: reason))")
                    }
                    for url in refused { world.transport.change(url) { $0.script = [] } }
                    let ended = await world.advance(atMost: 200) { world.ledger.open.isEmpty }
                    #expect(ended)
                }
            }
        }

        @Test func `A few failing tasks slow thousands of others by at most five per cent`() async {
            await #expect(processExitsWith: .success) {
                let undisturbed = await Throughput.seconds(bad: [])
                let disturbed = await Throughput.seconds(bad: BadTask.allCases)
                let refused = await Throughput.seconds(bad: BadTask.allCases.filter(\.isRefused))
                print("throughput: \(undisturbed) s alone, \(disturbed) s with bad tasks, \(refused) s with refused")
                #expect(undisturbed > 0)
                #expect(disturbed <= undisturbed * 1.05)
                #expect(refused <= undisturbed * 1.05)
            }
        }
    }
}

/// The kinds of tasks that fail on every attempt, each for a different reason.
enum BadTask: CaseIterable {
    case alwaysError
    case redirectToDeadAddress
    case deadProxy
    case neverAnswers
    case cutWithoutRanges
    case refusedBriefly
    case refusedForAnHour

    /// Whether the server refuses with a Retry-After.
    var isRefused: Bool { self == .refusedBriefly || self == .refusedForAnHour }

    static let proxy = "http://proxy.example:3128"

    /// Returns the request of a bad task. It has the same origin as the healthy tasks.
    func request(_ world: World, number: Int) -> TaskRequest {
        let behaviour: ScriptedBehaviour =
            switch self {
            case .alwaysError: .status(500)
            case .redirectToDeadAddress: .deadRedirect
            case .deadProxy: .normal
            case .neverAnswers: .silent
            case .cutWithoutRanges: .cut(after: 5_000)
            case .refusedBriefly: .status(503, retryAfter: "3")
            case .refusedForAnHour: .status(429, retryAfter: "3600")
            }
        let url = "http://host.example/\(self)-\(number)"
        var version = ScriptedVersion(seed: 1, size: 10_000, entityTag: "\"a\"")
        version.acceptsRanges = self != .cutWithoutRanges
        world.transport.serve(
            url, ScriptedResource([version], script: Array(repeating: behaviour, count: 1_000)))
        world.transport.setDeadProxies([Self.proxy])
        return world.request(url) { request in
            if self == .deadProxy { request.proxy = Self.proxy }
            if self == .neverAnswers { request.idleTimeout = 1 }
        }
    }
}

/// A measurement of the virtual time that a long queue of one origin takes.
private enum Throughput {
    static let healthy = 2_000

    static func seconds(bad kinds: [BadTask]) async -> Double {
        var seconds = 0.0
        await Simulation.run("throughput with \(kinds)", jitter: 0.5) { world in
            world.transport.setBandwidth(8_000)
            let bad = kinds.flatMap { kind in (0..<2).map { kind.request(world, number: $0) } }
            let urls = (0..<healthy).map { Story.serve(world, name: "healthy-\($0)", size: 8_000) }
            await world.start()
            if !bad.isEmpty { await world.enqueue(bad) }
            let before = world.now.bootSeconds
            for start in stride(from: 0, to: healthy, by: 500) {
                await world.enqueue(urls[start..<start + 500].map { world.request($0, kept: true) })
            }
            while try await world.service.status().tasks["completed"] ?? 0 < healthy {
                guard world.now.bootSeconds - before < 4_000 else { return world.fail("The queue never ends.") }
                await world.advance(by: 1, inspecting: false)
            }
            seconds = world.now.bootSeconds - before
        }
        return seconds
    }
}
