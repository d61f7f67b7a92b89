import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of fairness: failed tasks do not keep untried tasks from a connection, and wait longer after each failure.
    @Suite struct FairnessTests {
        @Test func `Every task starts even if the service crashes again and again`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("kills") { world in
                    world.transport.setBandwidth(1 << 20)
                    // No task completes before the service crashes, and no task can be resumed.
                    func endless(_ name: String, size: Int64) -> TaskRequest {
                        let url = "http://host.example/\(name)"
                        var version = ScriptedVersion(seed: 1, size: size, entityTag: nil)
                        version.acceptsRanges = false
                        world.transport.serve(url, ScriptedResource([version]))
                        return world.request(url, kept: true)
                    }
                    await world.start()
                    await world.enqueue((0..<6).map { endless("first-\($0)", size: 30 << 20) })
                    let waiting = (0..<175).map { endless("waiting-\($0)", size: 900_000) }
                    await world.enqueue(waiting)
                    var lives = 0
                    var begun = Set<String>()
                    while begun.count < waiting.count, lives < 120 {
                        await world.advance(by: 0.4, inspecting: false)
                        try await world.crash()
                        try await world.boot()
                        lives += 1
                        begun = Set(world.transport.begun.map(\.request.url).filter { $0.contains("waiting") })
                    }
                    #expect(begun.count == waiting.count, "After \(lives) kills \(begun.count) of 175 have begun.")
                }
            }
        }

        @Test func `T2: A healthy host starts within 5 s beside 1,000 tasks of hosts that send no bytes`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("starved by slow hosts") { world in
                    // Each slow transfer allows one additional transfer, 96 at most.
                    world.requests.setMaximumTransfers(32 + 96)
                    let troubles: [ScriptedBehaviour] = [.silent, .stall(after: 2), .cannotConnect]
                    let slow = (0..<1_000).map { number -> String in
                        let url = "http://slow\(number % 100).example/\(number)"
                        let version = ScriptedVersion(seed: 1, size: 100_000, entityTag: nil)
                        let trouble = troubles[number % 100 % troubles.count]
                        world.transport.serve(
                            url, ScriptedResource([version], script: Array(repeating: trouble, count: 60)))
                        return url
                    }
                    await world.start()
                    await world.enqueue(slow.map { world.request($0) })
                    for round in 0..<3 {
                        let healthy = (0..<6).map {
                            Story.serve(world, host: "healthy\(round)", name: "\(round)-\($0)", size: 50_000)
                        }
                        let start = world.now.bootSeconds
                        let ids = await world.enqueue(healthy.map { world.request($0) })
                        await world.advance(by: 5, inspecting: false)
                        let first = world.transport.begun.first { healthy.contains($0.request.url) }?.time
                        #expect(first.map { $0 - start <= 5 } == true, "\(String(describing: first)) after \(start)")
                        await world.advance(by: 15, inspecting: false)
                        for id in ids { #expect(await world.status(id)?.state == .completed) }
                    }
                    #expect(world.requests.takeViolations() == [])
                }
            }
        }

        @Test func `T4: The journal shows the starts of many small transfers long before their ends`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("starts of small ones") { world in
                    let urls = (0..<24).map { Story.serve(world, host: "host\($0 % 4)", name: "\($0)", size: 80_000) }
                    world.transport.setBandwidth(100_000)
                    await world.start()
                    await world.enqueue(urls.map { world.request($0) })
                    await world.advance(by: 0.3)
                    let entries = await world.journal()
                    #expect(entries.count { $0.decision == .started } == 24)
                    #expect(entries.count { $0.decision == .completed } == 0)
                }
            }
        }

        @Test func `T2: A slow transfer gives up its connection and later continues from its last byte`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("gives up its place") { world in
                    let url = "http://slow.example/file"
                    let version = ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"a\"")
                    world.transport.serve(url, ScriptedResource([version], script: [.stall(after: 1_000_000)]))
                    let other = Story.serve(world, host: "healthy", size: 1_000)
                    await world.start()
                    _ = await world.call { [service = world.service] in
                        try? await service.change(ServiceSettings(maximumTransfers: 1))
                    }
                    world.requests.setMaximumTransfers(1)
                    let slow = await world.enqueue(world.request(url) { $0.connections = 1 })
                    await world.advance(by: 5)
                    let id = await world.enqueue(world.request(other))
                    #expect(await world.status(id)?.wait?.detail?.contains("almost no bytes") == true)
                    await world.advance(by: 13)
                    #expect(await world.status(id)?.state == .completed)
                    let wait = await world.status(slow)?.wait
                    #expect(wait?.reason == .slow && wait?.until != nil, "\(String(describing: wait))")
                    #expect(await world.advance(atMost: 30) { world.ledger.open.isEmpty })
                    #expect(world.transport.begun.last?.request.headers.first("Range") != nil)
                }
            }
        }

        @Test func `Pauses grow if each attempt has to restart from byte 0`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("thrown away", jitter: 0.5) { world in
                    let url = "http://host.example/file"
                    var version = ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"a\"")
                    version.acceptsRanges = false
                    let script = Array(repeating: ScriptedBehaviour.cut(after: 1_000_000), count: 200)
                    world.transport.serve(url, ScriptedResource([version], script: script))
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 100)
                    let status = await world.status(id)
                    #expect(
                        status?.wait?.detail?.contains("from byte 0") == true, "\(String(describing: status?.wait))")
                    await world.advance(by: 900)
                    let gaps = Story.gaps(world.transport.begun.map(\.time))
                    // There are exactly ten attempts of the same length. The pauses between them begin with half a
                    // second and double each time.
                    #expect(gaps.count == 9, "\(gaps)")
                    #expect(zip(gaps.prefix(8), gaps.dropFirst()).allSatisfy { $0 < $1 }, "\(gaps)")
                    #expect(await world.status(id)?.state == .failed)
                }
            }
        }

        @Test func `Pauses grow when the entity tag changes on every attempt`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("another tag each time", jitter: 0.5) { world in
                    let url = "http://host.example/file"
                    // Servers change tags in this way if they derive the tag from the time of the response, or if the
                    // members of a server farm disagree.
                    let versions = (0..<200).map {
                        ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"\($0)\"")
                    }
                    let script = Array(repeating: ScriptedBehaviour.replaced(after: 1_000_000), count: 200)
                    world.transport.serve(url, ScriptedResource(versions, script: script))
                    await world.start()
                    await world.enqueue(world.request(url))
                    await world.advance(by: 1_000, inspecting: false)
                    #expect(world.transport.begun.count <= 16, "\(Story.gaps(world.transport.begun.map(\.time)))")
                }
            }
        }

        @Test func `Pauses grow even if each attempt breaks off a little later than the last one`() async {
            await #expect(processExitsWith: .success) {
                let url = "http://host.example/file"
                func version(_ tag: Int) -> ScriptedVersion {
                    ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"\(tag)\"")
                }
                // The first script has another tag on each attempt. The second one answers ranges with the wrong part
                // before it sends the whole file.
                let newTags = ScriptedResource(
                    (0..<400).map(version), script: (0..<400).map { .replaced(after: 1_000_000 + Int64($0)) })
                let wrongParts = ScriptedResource(
                    [version(0)],
                    script: (0..<800).map { $0 % 2 == 0 ? .cut(after: 1_000_000 + Int64($0)) : .latePart })
                for (name, resource, requests) in [("new tags", newTags, 1), ("wrong parts", wrongParts, 2)] {
                    await Simulation.run(name, jitter: 0.5) { world in
                        world.transport.serve(url, resource)
                        await world.start()
                        let id = await world.enqueue(world.request(url))
                        await world.advance(by: 100, inspecting: false)
                        let wait = await world.status(id)?.wait
                        #expect(wait?.detail?.contains("repeatedly") == true, "\(String(describing: wait))")
                        await world.advance(by: 900, inspecting: false)
                        // The pause is half a second twice. Then it doubles each time up to a limit.
                        let count = world.transport.begun.count
                        #expect(count <= 17 * requests, "\(name): \(Story.gaps(world.transport.begun.map(\.time)))")
                        #expect(await world.status(id)?.state == .failed)
                    }
                }
            }
        }

        @Test func `A file that changed once is resumed without long pauses`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("a new version", jitter: 0.5) { world in
                    let url = "http://host.example/file"
                    let versions = (0..<2).map {
                        ScriptedVersion(seed: 1, size: 9_000_000, entityTag: "\"\($0)\"")
                    }
                    let script: [ScriptedBehaviour] =
                        [.replaced(after: 8_000_000)] + Array(repeating: .cut(after: 1_000_000), count: 8)
                    world.transport.serve(url, ScriptedResource(versions, script: script))
                    await world.start()
                    await world.enqueue(world.request(url))
                    let start = world.now.bootSeconds
                    #expect(await world.advance(atMost: 60) { world.ledger.open.isEmpty })
                    // Each attempt brings more of the new version than any attempt before, so the pauses stay short.
                    #expect(world.now.bootSeconds - start < 30)
                }
            }
        }

        @Test func `Pauses between retries grow if a response has two different lengths`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("two lengths", jitter: 0.5) { world in
                    let url = "http://host.example/file"
                    var version = ScriptedVersion(seed: 1, size: 100_000, entityTag: nil)
                    version.acceptsRanges = false
                    let script = Array(repeating: ScriptedBehaviour.twoLengths, count: 500)
                    world.transport.serve(url, ScriptedResource([version], script: script))
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 30, inspecting: false)
                    // The attempts follow pauses of half a second, 1, 2, 4, 8 and 16 seconds.
                    #expect(
                        (4...7).contains(world.transport.begun.count), "\(world.transport.begun.count) times in 30 s")
                    #expect(await world.status(id)?.lastError?.message.contains("different lengths") == true)
                }
            }
        }

        @Test func `Pauses between retries grow if a file repeatedly fails its checksum`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("wrong checksum", jitter: 0.5) { world in
                    // Each time the file arrives in two parts and does not match its checksum. Either part may be
                    // wrong.
                    let url = "http://host.example/file"
                    let version = ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"a\"")
                    let script = (0..<200).map { $0 % 2 == 0 ? ScriptedBehaviour.cut(after: 1_000_000) : .normal }
                    world.transport.serve(url, ScriptedResource([version], script: script))
                    await world.start()
                    let checked = world.request(url, kept: true) { request in
                        request.checksum = Checksum(algorithm: .md5, hex: String(repeating: "0", count: 32))
                    }
                    let id = await world.enqueue(checked)
                    await world.advance(by: 60, inspecting: false)
                    #expect(world.transport.begun.count <= 20, "\(world.transport.begun.count) times in 60 s")
                    #expect(await world.status(id)?.state.isTerminal == false)
                }
            }
        }
    }
}
