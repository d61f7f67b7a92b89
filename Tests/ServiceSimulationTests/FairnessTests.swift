import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Who has failed does not keep those from a connection that were never tried, and waits longer each time.
    @Suite struct FairnessTests {
        @Test func killsAgainAndAgainLetEveryTaskBegin() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("kills") { world in
                    world.transport.setBandwidth(1 << 20)
                    // None of them is whole before the service dies, and none can be continued.
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

        @Test func progressThatIsThrownAwayMakesPausesGrow() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("thrown away", jitter: 0.5) { world in
                    let url = "http://host.example/file"
                    var version = ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"a\"")
                    version.acceptsRanges = false
                    let script = Array(repeating: ScriptedBehaviour.cut(after: 1_000_000), count: 200)
                    world.transport.serve(url, ScriptedResource([version], script: script))
                    await world.start()
                    let id = await world.enqueue(world.request(url))
                    await world.advance(by: 1_000)
                    let gaps = Story.gaps(world.transport.begun.map(\.time))
                    // Half a second, doubled each time, each behind an attempt of the same length.
                    #expect((10...15).contains(gaps.count), "\(gaps)")
                    #expect(zip(gaps.prefix(8), gaps.dropFirst()).allSatisfy { $0 < $1 }, "\(gaps)")
                    let status = await world.status(id)
                    #expect(
                        status?.wait?.detail?.contains("from byte 0") == true, "\(String(describing: status?.wait))")
                }
            }
        }

        @Test func aTagThatChangesEachTimeMakesPausesGrow() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("another tag each time", jitter: 0.5) { world in
                    let url = "http://host.example/file"
                    // As servers do that make the tag from the answer's time, or a farm whose members disagree.
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

        @Test func aBreakThatComesLaterEachTimeMakesPausesGrow() async {
            await #expect(processExitsWith: .success) {
                let url = "http://host.example/file"
                func version(_ tag: Int) -> ScriptedVersion {
                    ScriptedVersion(seed: 1, size: 3_000_000, entityTag: "\"\(tag)\"")
                }
                // Another tag each time; and ranges that are answered by the wrong part, before the whole.
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
                        await world.advance(by: 1_000, inspecting: false)
                        // Half a second twice, doubled each time then.
                        let count = world.transport.begun.count
                        #expect(count <= 17 * requests, "\(name): \(Story.gaps(world.transport.begun.map(\.time)))")
                        let wait = await world.status(id)?.wait
                        #expect(wait?.detail?.contains("again and again") == true, "\(String(describing: wait))")
                    }
                }
            }
        }

        @Test func aFileThatChangedOnceIsContinuedAtOnce() async {
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
                    // Each attempt brings more of the new version than any before: pauses stay short.
                    #expect(world.now.bootSeconds - start < 30)
                }
            }
        }

        @Test func aResponseOfTwoLengthsIsAskedForLessAndLess() async {
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
                    // After half a second, 1, 2, 4, 8 and 16.
                    #expect(
                        (4...7).contains(world.transport.begun.count), "\(world.transport.begun.count) times in 30 s")
                    #expect(await world.status(id)?.lastError?.message.contains("different lengths") == true)
                }
            }
        }

        @Test func wrongBytesAreFetchedLessAndLess() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("wrong checksum", jitter: 0.5) { world in
                    // It comes in two parts each time, so that either may be to blame, and is wrong each time.
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
