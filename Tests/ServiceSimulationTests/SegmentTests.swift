import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of downloads over several connections, each of which delivers 1 MB a second.
    @Suite struct SegmentTests {
        private static let size: Int64 = 40_000_000
        /// The seconds between arrivals in tests in which the service measures how many connections help.
        private static let fine = 0.05

        /// Downloads one file with the request that `adjust` changes, and returns the duration in seconds.
        private static func seconds(
            _ name: String, _ script: [ScriptedBehaviour] = [],
            check: @escaping @Sendable (World, TaskStatus?) async -> Void = { _, _ in },
            adjust: @escaping @Sendable (inout TaskRequest) -> Void = { $0.connections = nil },
            prepare: @escaping @Sendable (World, String) -> Void = { _, _ in }
        ) async -> Double {
            var seconds = Double.infinity
            await Simulation.run(name) { world in
                let url = Story.serve(world, size: size, script: script)
                world.transport.setBandwidth(1_000_000)
                prepare(world, url)
                await world.start()
                let id = await world.enqueue(world.request(url, adjust: adjust))
                let begun = world.now.bootSeconds
                await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                seconds = world.now.bootSeconds - begun
                let status = await world.status(id)
                #expect(status?.state == .completed, "\(name): \(String(describing: status))")
                await check(world, status)
                try await world.stop()
                #expect(OpenFiles.count(below: world.directory.path) == 0, "\(name)")
            }
            return seconds
        }

        @Test func `B4: Eight connections complete a file in less than a third of the time of one`() async {
            await #expect(processExitsWith: .success) {
                let seconds = await Self.seconds("eight") { world, status in
                    #expect(status?.attempts == 1 && status?.restarts == 0)
                    #expect(world.transport.mostAtOnce == 8)
                    let decisions = await world.journal().map(\.decision)
                    #expect(decisions.count { $0 == .divided } == 1)
                } prepare: { world, _ in
                    world.transport.setBandwidth(1_000_000, interval: Self.fine)
                }
                // The download takes 40 s with one connection, and 5 s with all eight from the start.
                #expect(seconds < 40 / 3, "\(seconds)")
            }
        }

        @Test func `B4: A task uses exactly the number of connections in --connections N`() async {
            await #expect(processExitsWith: .success) {
                for count in [1, 2, 10] {
                    let seconds = await Self.seconds("forced") { world, _ in
                        #expect(world.transport.mostAtOnce == count)
                    } adjust: {
                        $0.connections = count
                    }
                    #expect(seconds > 39 / Double(count) && seconds < 40 / Double(count) + 3, "\(count): \(seconds)")
                }
            }
        }

        @Test func `B4: A discretionary or rate-limited task has one connection`() async {
            await #expect(processExitsWith: .success) {
                let patient = await Self.seconds("discretionary") { world, _ in
                    #expect(world.transport.mostAtOnce == 1)
                } adjust: {
                    $0.connections = 4
                    $0.isDiscretionary = true
                }
                #expect(patient > 39)
                let limited = await Self.seconds("limited") { world, _ in
                    #expect(world.transport.mostAtOnce == 1)
                } adjust: {
                    $0.connections = nil
                    $0.rateLimit = 800_000
                }
                #expect(limited > 49)
            }
        }

        @Test func `B4: A file is not split if its parts could be from two versions`() async {
            await #expect(processExitsWith: .success) {
                for (name, change) in Self.unsafe {
                    let seconds = await Self.seconds(name) { world, _ in
                        #expect(world.transport.begun.count == 1, "\(name)")
                    } prepare: { world, url in
                        world.transport.change(url) { change(&$0.versions[0]) }
                    }
                    #expect(seconds > 39, "\(name)")
                }
            }
        }

        private static let unsafe: [(String, @Sendable (inout ScriptedVersion) -> Void)] = [
            ("no ranges", { $0.acceptsRanges = false }),
            ("a weak tag", { $0.entityTag = "W/\"a\"" }),
            ("no validator", { $0.entityTag = nil }),
            ("no length", { $0.announcesLength = false }),
        ]

        /// A test of each fault on the second and later connections, while the first one continues.
        @Test func `B4: A server that ignores or misreports ranges is left with one connection`() async {
            await #expect(processExitsWith: .success) {
                let lies: [ScriptedBehaviour] = [
                    .ignoreRange, .latePart, .wrongTotal, .anonymousPart, .unsatisfiable, .status(404), .status(416),
                ]
                for lie in lies {
                    let seconds = await Self.seconds("\(lie)", [.normal] + Array(repeating: lie, count: 50)) {
                        world, status in
                        #expect(status?.restarts == 0, "\(lie)")
                        #expect(world.transport.begun.count < 20, "\(lie): \(world.transport.begun.count)")
                    }
                    // The download is never slower than with its one working connection alone.
                    #expect(seconds < 43, "\(lie): \(seconds)")
                }
            }
        }

        @Test func `B4: A task keeps a single connection after the second connection gets a 429 or 503`() async {
            await #expect(processExitsWith: .success) {
                for refusal in [ScriptedBehaviour.status(429, retryAfter: "30"), .status(503)] {
                    let seconds = await Self.seconds("\(refusal)", [.normal] + Array(repeating: refusal, count: 50)) {
                        world, status in
                        #expect(world.transport.begun.count == 2, "\(refusal)")
                        #expect(status?.attempts == 1)
                        let entry = await world.journal().last { $0.decision == .undivided }
                        #expect(entry?.detail == "The server accepts at most 1 simultaneous connections.")
                    }
                    #expect(seconds < 43)
                }
            }
        }

        @Test func `B4: Broken or silent connections are replaced, and no bytes are requested needlessly`() async {
            await #expect(processExitsWith: .success) {
                let troubles: [[ScriptedBehaviour]] = [
                    [.normal, .cut(after: 400_000), .normal, .cut(after: 900_000)],
                    [.cut(after: 5_000_000)], [.normal, .stall(after: 700_000)], [.stall(after: 6_000_000)],
                    [.normal, .short(after: 100_000), .silent, .cannotConnect],
                    Array(repeating: .earlyPart(by: 3_000), count: 50),
                ]
                for script in troubles {
                    let seconds = await Self.seconds("\(script)", script) { world, status in
                        #expect(status?.attempts == 1, "\(script)")
                        #expect(status?.lastError == nil, "\(script)")
                    }
                    #expect(seconds < 20, "\(script): \(seconds)")
                }
            }
        }

        @Test func `B4: A file replaced during the download is fetched again and never mixed`() async {
            await #expect(processExitsWith: .success) {
                let replaced = ScriptedBehaviour.replaced(after: 2_000_000)
                _ = await Self.seconds(
                    "replaced", [.normal, replaced],
                    prepare: { world, url in
                        world.transport.change(url) {
                            $0.versions.append(ScriptedVersion(seed: 2, size: Self.size, entityTag: "\"b\""))
                        }
                    })
            }
        }

        @Test func `B4: Other tasks of the session get their connections back at once`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("shared") { world in
                    let large = Story.serve(world, size: Self.size)
                    world.transport.setBandwidth(1_000_000, interval: Self.fine)
                    await world.start()
                    await world.enqueue(world.request(large) { $0.connections = nil })
                    await world.advance(by: 4)
                    let running = world.transport.underWay.map(\.request.url)
                    #expect(running.count == 8, "\(running)")
                    let others = (0..<4).map { Story.serve(world, name: "other\($0)", size: 3_000_000) }
                    await world.enqueue(others.map { world.request($0) })
                    await world.advance(by: 0.5)
                    // The request recorder limits all these downloads together to eight connections.
                    let urls = world.transport.underWay.map(\.request.url)
                    #expect(Set(urls).count == 5, "\(urls)")
                    #expect(urls.count { $0 == large } == 4, "\(urls)")
                    await world.advance(atMost: 60) { world.ledger.open.isEmpty }
                    #expect(world.ledger.open.isEmpty, "\(world.ledger.open)")
                    try await world.stop()
                }
            }
        }

        @Test func `B4: A file with gaps continues from its checkpoint after a crash or power cut`() async {
            await #expect(processExitsWith: .success) {
                for isPowerCut in [false, true] {
                    await Simulation.run("gaps, power cut: \(isPowerCut)") { world in
                        let url = Story.serve(world, size: Self.size)
                        world.transport.setBandwidth(1_000_000)
                        await world.start()
                        let id = await world.enqueue(world.request(url) { $0.connections = 4 })
                        await world.advance(by: 5)
                        let before = await world.status(id)?.countOfBytesReceived ?? 0
                        #expect(before > 15_000_000)
                        if isPowerCut { try await world.cutPower(off: 60) } else { try await world.crash() }
                        let asked = world.transport.begun.count
                        try await world.boot()
                        await world.advance(atMost: 60) { world.ledger.open.isEmpty }
                        let status = await world.status(id)
                        #expect(status?.state == .completed)
                        #expect(status?.restarts == 0)
                        // The service may request two seconds of four connections again, and the ends of parts.
                        let again = world.transport.begun.dropFirst(asked).reduce(into: ByteRanges()) {
                            if let range = Self.range($1) { $0.insert(range) }
                        }
                        #expect(again.count <= Self.size - before + 9_000_000, "\(again.count) after \(before)")
                        try await world.stop()
                    }
                }
            }
        }

        @Test func `B4: A task that is suspended midway stops at once and later fetches only the gaps`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("suspended") { world in
                    let url = Story.serve(world, size: Self.size)
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    let id = await world.enqueue(world.request(url) { $0.connections = 4 })
                    await world.advance(by: 5)
                    await world.suspend(id)
                    #expect(world.transport.underWay.isEmpty)
                    let kept = await world.status(id)?.countOfBytesReceived ?? 0
                    let asked = world.transport.begun.count
                    await world.advance(by: 100)
                    await world.resume(id)
                    await world.advance(atMost: 60) { world.ledger.open.isEmpty }
                    #expect(await world.status(id)?.state == .completed)
                    let again = world.transport.begun.dropFirst(asked).reduce(into: ByteRanges()) {
                        if let range = Self.range($1) { $0.insert(range) }
                    }
                    #expect(again.count == Self.size - kept)
                    try await world.stop()
                }
            }
        }

        /// Starts a download over four connections that all break. From then on every response is `answer`.
        private static func broken(
            _ world: World, then answer: ScriptedBehaviour, connectivity: NetworkConnectivity = .full
        ) async -> (id: TaskID, url: String) {
            let url = Story.serve(world, size: size)
            world.transport.change(url) { $0.versions[0].mediaType = "application/zip" }
            world.transport.setBandwidth(1_000_000)
            await world.start()
            let id = await world.enqueue(world.request(url) { $0.connections = 4 })
            await world.advance(by: 5)
            let before = await world.status(id)?.countOfBytesReceived ?? 0
            #expect(before > 15_000_000)
            world.transport.change(url) { $0.script = Array(repeating: answer, count: 400) }
            await world.change { $0.conditions.network.connectivity = connectivity }
            world.transport.breakConnections()
            await world.advance(by: 10)
            #expect(await world.status(id)?.countOfBytesReceived ?? 0 >= before)
            return (id, url)
        }

        /// Lets the download complete, and checks that the service does not request bytes that it already has.
        private static func finish(_ world: World, _ id: TaskID, asking: () async -> Void) async {
            let kept = await world.status(id)?.countOfBytesReceived ?? 0
            let asked = world.transport.begun.count
            await asking()
            await world.advance(atMost: 600) { world.ledger.open.isEmpty }
            let status = await world.status(id)
            #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
            let again = world.transport.begun.dropFirst(asked).reduce(into: ByteRanges()) {
                if let range = range($1) { $0.insert(range) }
            }
            #expect(again.count == size - kept, "\(again.count) of \(size - kept)")
        }

        @Test func `T8: A split download keeps the bytes after its gaps when a server sends log-in pages`() async {
            await #expect(processExitsWith: .success) {
                for connectivity in [NetworkConnectivity.full, .portal] {
                    await Simulation.run("parts and a page, \(connectivity)") { world in
                        let (id, url) = await Self.broken(world, then: .page, connectivity: connectivity)
                        let status = await world.status(id)
                        #expect(
                            status?.wait?.reason == (connectivity == .portal ? .portal : .doubtfulAnswer),
                            "\(String(describing: status))")
                        let detail = status?.wait?.detail ?? ""
                        #expect(
                            detail.contains("of application/zip") && detail.contains("this was response 1"), "\(detail)"
                        )
                        await Self.finish(world, id) {
                            world.transport.change(url) { $0.script = [] }
                            await world.change { $0.conditions.network.connectivity = .full }
                        }
                        try await world.stop()
                        #expect(OpenFiles.count(below: world.directory.path) == 0)
                    }
                }
            }
        }

        @Test func `T8: A split download keeps the bytes after its gaps when its signed link expires`() async {
            await #expect(processExitsWith: .success) {
                for refusal in [401, 403, 404] {
                    await Simulation.run("parts and \(refusal)") { world in
                        let (id, url) = await Self.broken(world, then: .status(refusal))
                        let failed = await world.status(id)
                        #expect(failed?.state == .failed && failed?.error?.status == refusal)
                        #expect(failed?.resumeData != nil)
                        await Self.finish(world, id) {
                            let renewed = "\(url)?signature=2"
                            let version = ScriptedVersion(seed: 1, size: Self.size, entityTag: "\"a\"")
                            world.transport.serve(renewed, ScriptedResource([version]))
                            await world.retarget(id, to: renewed)
                        }
                        try await world.stop()
                        #expect(OpenFiles.count(below: world.directory.path) == 0)
                    }
                }
            }
        }

        @Test func `B4: Mirrors with the same file share the work, and a mirror with another file has none`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("mirrors") { world in
                    let url = Story.serve(world, size: Self.size)
                    let same = Story.serve(world, host: "same", size: Self.size)
                    let other = "http://other.example/file"
                    var version = ScriptedVersion(seed: 9, size: Self.size, entityTag: "\"z\"")
                    version.digest = Mirror.wrongDigest
                    world.transport.serve(other, ScriptedResource([version]))
                    world.transport.setBandwidth(1_000_000)
                    await world.start()
                    let id = await world.enqueue(
                        world.request(url) {
                            $0.connections = 4
                            $0.mirrors = [same, other]
                            $0.checksum = Mirror.checksum(seed: 1, size: Self.size)
                        })
                    await world.advance(atMost: 60) { world.ledger.open.isEmpty }
                    #expect(await world.status(id)?.state == .completed)
                    let asked = Dictionary(grouping: world.transport.begun, by: \.request.url).mapValues(\.count)
                    #expect(asked[same] ?? 0 >= 1)
                    #expect(asked[other] == 1)
                    let dropped = await world.journal().filter { $0.decision == .mirrorDropped }.compactMap(\.detail)
                    #expect(dropped == ["http://other.example:80: the mirror's file has another digest."])
                    try await world.stop()
                }
            }
        }

        /// Returns the byte range of a request, or nil if the request has none.
        private static func range(_ begun: ScriptedTransport.Begun) -> Range<Int64>? {
            guard let field = begun.request.headers.first("Range") else { return nil }
            let bounds = field.dropFirst(6).split(separator: "-").compactMap { Int64($0) }
            guard let first = bounds.first else { return nil }
            return first..<(bounds.count > 1 ? bounds[1] + 1 : size)
        }
    }
}
