import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of tasks that get another URL, for the same file or for a different one.
    @Suite struct RetargetTests {
        @Test func `B2: A task with a checksum continues the same file at another URL, whatever the tag`() async {
            await #expect(processExitsWith: .success) {
                for tag in ["\"a\"", "\"b\"", nil] {
                    await Simulation.run("retarget to \(tag ?? "no tag")") { world in
                        Mirror.serve(world, "old", seed: 1, tag: "\"a\"")
                        let url = Mirror.serve(world, "new", seed: 1, tag: tag)
                        await world.start()
                        let id = await world.enqueue(
                            world.request("http://old.example/file") { $0.checksum = Mirror.checksum(seed: 1) })
                        await world.advance(by: 2.6)
                        let here = await world.status(id)?.countOfBytesReceived ?? 0
                        #expect(here > 2_000_000)
                        let status = await world.retarget(id, to: url)
                        #expect(status?.url == url)
                        await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                        let end = await world.status(id)
                        #expect(end?.state == .completed && end?.restarts == 0, "\(String(describing: end))")
                        let asked = world.transport.begun.filter { $0.request.url == url }.map(\.request.headers)
                        #expect(asked.first?.first("If-Range") == "\"a\"")
                        // An equal tag from another host does not prove that the file is the same.
                        #expect(asked.count == 2)
                        #expect(asked.last?.first("Range") == "bytes=\(here - RetargetedBytes.overlap)-")
                        #expect(asked.last?.first("If-Range") == nil)
                        try await world.stop()
                    }
                }
            }
        }

        @Test func `B2: A renewed signed link is continued by its tag, but another resource is not`()
            async
        {
            await #expect(processExitsWith: .success) {
                let urls: KeyValuePairs = [
                    "http://old.example/file?signature=2": 1, "http://old.example/file?id=2": 2,
                    "http://new.example/file": 2,
                ]
                for (url, seed) in urls {
                    await Simulation.run("retarget to \(url)") { world in
                        let old = "http://old.example/file"
                        Mirror.serve(world, "old", seed: 1, tag: "\"a\"")
                        world.transport.serve(
                            url,
                            ScriptedResource([
                                ScriptedVersion(seed: UInt64(seed), size: Mirror.size, entityTag: "\"a\"")
                            ]))
                        await world.start()
                        let id = await world.enqueue(world.request(old))
                        await world.advance(by: 2.6)
                        await world.retarget(id, to: url)
                        await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                        let end = await world.status(id)
                        #expect(end?.state == .completed && end?.restarts == seed - 1, "\(String(describing: end))")
                        let restarts = await world.journal().filter { $0.decision == .restarted }.map(\.detail)
                        #expect(restarts == (seed == 1 ? [] : [RetargetedBytes.unproven]))
                        try await world.stop()
                    }
                }
            }
        }

        @Test func `B2: Bytes after a gap are kept only if the new URL has the same entity tag`()
            async
        {
            await #expect(processExitsWith: .success) {
                for tag in ["\"a\"", "\"b\""] {
                    await Simulation.run("retarget of parts to \(tag)") { world in
                        Mirror.serve(world, "old", seed: 1, size: 16_000_000, tag: "\"a\"")
                        let url = Mirror.serve(world, "new", seed: 1, size: 16_000_000, tag: tag)
                        await world.start()
                        let id = await world.enqueue(
                            world.request("http://old.example/file") {
                                $0.connections = 3
                                $0.checksum = Mirror.checksum(seed: 1, size: 16_000_000)
                            })
                        await world.advance(by: 3.6)
                        let here = await world.status(id)?.countOfBytesReceived ?? 0
                        #expect(here > 5_000_000)
                        await world.retarget(id, to: url)
                        await world.advance(by: 0.2)
                        let kept = await world.status(id)?.countOfBytesReceived ?? 0
                        #expect(tag == "\"a\"" ? kept >= here : kept >= here / 4, "\(kept) of \(here)")
                        await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                        let end = await world.status(id)
                        #expect(end?.state == .completed && end?.restarts == 0, "\(String(describing: end))")
                        try await world.stop()
                    }
                }
            }
        }

        @Test func `B2: Another file of the same length is fetched whole, and the journal says why`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("retarget to another file") { world in
                    Mirror.serve(world, "old", seed: 1, tag: "\"a\"")
                    let url = Mirror.serve(world, "new", seed: 2, tag: "\"b\"")
                    await world.start()
                    let id = await world.enqueue(
                        world.request("http://old.example/file") { $0.checksum = Mirror.checksum(seed: 2) })
                    await world.advance(by: 2.6)
                    await world.retarget(id, to: url)
                    await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                    let end = await world.status(id)
                    #expect(end?.state == .completed && end?.restarts == 1, "\(String(describing: end))")
                    let restarts = await world.journal().filter { $0.decision == .restarted }
                    #expect(restarts.map(\.detail) == ["the file at the new URL is a different file"])
                    try await world.stop()
                }
            }
        }

        @Test func `B2: A download that failed because its URL expired continues under the same task number`() async {
            await #expect(processExitsWith: .success) {
                for status in [403, 404, 410] {
                    await Simulation.run("expired with \(status)") { world in
                        Mirror.serve(
                            world, "old", seed: 1, tag: "\"a\"", script: [.cut(after: 2_000_000), .status(status)])
                        let url = Mirror.serve(world, "new", seed: 1, tag: "\"b\"")
                        await world.start()
                        let id = await world.enqueue(
                            world.request("http://old.example/file") { $0.checksum = Mirror.checksum(seed: 1) })
                        await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                        let failed = await world.status(id)
                        #expect(failed?.error?.status == status && failed?.resumeData != nil)
                        let again = await world.retarget(id, to: url)
                        #expect(again?.state.isTerminal == false && again?.error == nil && again?.resumeData == nil)
                        await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                        let end = await world.status(id)
                        #expect(end?.state == .completed && end?.restarts == 0, "\(String(describing: end))")
                        #expect(await world.retarget(id, to: url) == nil)
                        try await world.stop()
                    }
                }
            }
        }

        @Test func `B2: A suspended task stays suspended and keeps its secrets after a change of URL`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("suspended") { world in
                    let old = Mirror.serve(world, "old", seed: 1, tag: "\"a\"")
                    let new = Mirror.serve(world, "new", seed: 1, tag: "\"a\"")
                    let sibling = "http://old.example/other"
                    world.transport.serve(
                        sibling, ScriptedResource([ScriptedVersion(seed: 1, size: Mirror.size, entityTag: "\"a\"")]))
                    await world.start()
                    let id = await world.enqueue(
                        world.request(old) { request in
                            request.headers?.append(HeaderField(name: "Authorization", value: "secret"))
                            request.credential = Credential(user: "ada", password: "secret")
                        })
                    await world.advance(by: 1.6)
                    await world.suspend(id)
                    #expect(await world.retarget(id, to: sibling)?.state == .suspended)
                    await world.resume(id)
                    await world.advance(by: 1)
                    let within = world.transport.begun.last { $0.request.url == sibling }?.request
                    #expect(within?.headers.first("Authorization") == "secret" && within?.credential?.user == "ada")
                    await world.retarget(id, to: new)
                    await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                    let elsewhere = world.transport.begun.filter { $0.request.url == new }.map(\.request)
                    #expect(!elsewhere.isEmpty)
                    #expect(elsewhere.allSatisfy { $0.headers.first("Authorization") == nil && $0.credential == nil })
                    #expect(elsewhere.allSatisfy { $0.headers.first(RequestRecorder.markField) != nil })
                    #expect(await world.status(id)?.state == .completed)
                    try await world.stop()
                }
            }
        }

        @Test func `T13: Bytes from resume data are deleted if the server has another version`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("bytes taken over") { world in
                    let url = Mirror.serve(world, "old", seed: 1, tag: "\"a\"")
                    await world.start()
                    let first = await world.enqueue(world.request(url))
                    await world.advance(by: 2.6)
                    var request = world.request(url)
                    request.resumeData = await world.cancel(first, keeping: true)?.resumeData
                    #expect(request.resumeData != nil)
                    // The server has another version in the meantime.
                    world.transport.change(url) {
                        $0.versions = [ScriptedVersion(seed: 2, size: Mirror.size, entityTag: "\"b\"")]
                    }
                    let second = await world.enqueue(request)
                    await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                    #expect(await world.status(second)?.state == .completed)
                    #expect(await world.status(second)?.restarts == 1)
                    let left = try FileManager.default.contentsOfDirectory(atPath: world.paths.partials.path)
                    #expect(left.filter { $0.hasSuffix(".part") } == [])
                    try await world.stop()
                }
            }
        }

        @Test func `T13: The service verifies resume data for another URL like a change of URL`() async {
            await #expect(processExitsWith: .success) {
                for seed in [1, 2] as [UInt64] {
                    await Simulation.run("resume data elsewhere, seed \(seed)") { world in
                        let old = Mirror.serve(world, "old", seed: 1, tag: "\"a\"")
                        let new = Mirror.serve(world, "new", seed: seed, tag: "\"b\"")
                        await world.start()
                        let first = await world.enqueue(
                            world.request(old) { $0.checksum = Mirror.checksum(seed: seed) })
                        await world.advance(by: 2.6)
                        var request = world.request(new)
                        request.resumeData = await world.cancel(first, keeping: true)?.resumeData
                        #expect(request.resumeData != nil)
                        let second = await world.enqueue(request)
                        await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                        #expect(await world.status(second)?.state == .completed)
                        #expect(await world.status(second)?.restarts == (seed == 1 ? 0 : 1))
                        try await world.stop()
                    }
                }
            }
        }

        @Test func `B2: A started upload keeps its URL and continues`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("upload") { world in
                    let old = Mirror.serve(world, "old", seed: 1, tag: nil)
                    let new = Mirror.serve(world, "new", seed: 1, tag: nil)
                    let source = try world.directory.write(String(repeating: "x", count: 4_000_000), to: "source")
                    await world.start()
                    func upload(suspended: Bool) -> TaskRequest {
                        world.request(old, kept: true) { request in
                            request.kind = .upload
                            request.source = source
                            request.suspended = suspended
                        }
                    }
                    let begun = await world.enqueue(upload(suspended: false))
                    let waiting = await world.enqueue(upload(suspended: true))
                    await world.advance(by: 1.1)
                    #expect(await world.retarget(begun, to: new) == nil)
                    #expect(await world.status(begun)?.state == .running)
                    #expect(await world.retarget(waiting, to: new)?.url == new)
                    await world.resume(waiting)
                    await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                    #expect(world.transport.begun.filter { $0.request.url == new }.count == 1)
                    try await world.stop()
                }
            }
        }

        @Test func `B2: The next service continues with the old or new URL after a crash at any write`() async {
            await #expect(processExitsWith: .success) {
                await CrashStory.everyWrite("retargeting", step: 1, story: Mirror.tell) { world in
                    try await world.crash()
                    try await world.boot()
                }
            }
        }

        @Test func `B2: Random URLs, network failures and power cuts never mix two files`() async {
            print("retargeting: seeds \(Rounds.seeds(default: 20))")
            await #expect(processExitsWith: .success) {
                var continued = 0
                for seed in Rounds.seeds(default: 20) {
                    await Simulation.run("retargeting", seed: seed) { world in
                        try await Mirror.wander(world)
                        continued += await Mirror.continuations(world)
                        try await world.stop()
                    }
                }
                #expect(continued > 0, "No bytes ever went on at another URL.")
            }
        }
    }
}

/// Servers that have the same file or a different one.
enum Mirror {
    static let size: Int64 = 6_000_000

    /// Returns the checksum of a file that these servers have.
    static func checksum(seed: UInt64, size: Int64 = size) -> Checksum {
        let digest = Content.seeded(size: size, seed: seed).sha256()
        return Checksum(algorithm: .sha256, hex: digest.hex)
    }

    /// Returns the checksum in the form that a server announces.
    static func digest(seed: UInt64, size: Int64 = size) -> String {
        "sha-256=:\(Data(Content.seeded(size: size, seed: seed).sha256()).base64EncodedString()):"
    }

    /// Returns whether a task's file has exactly this content.
    static func isWhole(_ status: TaskStatus?, seed: UInt64, size: Int64 = size) -> Bool {
        (try? SeededContent(seed: seed, size: size).firstMismatch(inFileAt: status?.file ?? "")) == .some(.none)
    }

    static let wrongDigest = "sha-256=:\(Data(count: 32).base64EncodedString()):"

    @discardableResult
    static func serve(
        _ world: World, _ host: String, seed: UInt64, size: Int64 = size, tag: String?, script: [ScriptedBehaviour] = []
    ) -> String {
        let url = "http://\(host).example/file"
        world.transport.setBandwidth(1_000_000)
        world.transport.serve(
            url, ScriptedResource([ScriptedVersion(seed: seed, size: size, entityTag: tag)], script: script))
        return url
    }

    /// Runs two downloads that change URLs while they run: one to the same file, one to another file and back.
    @Sendable static func tell(_ world: World) async {
        let old = serve(world, "old", seed: 1, tag: "\"a\"")
        let same = serve(world, "same", seed: 1, tag: "\"b\"", script: [.cut(after: 400_000), .cut(after: 400_000)])
        let other = serve(world, "other", seed: 2, tag: "\"c\"")
        let ids = await world.enqueue([world.request(old), world.request(old)])
        await world.advance(by: 2.3, inspecting: false)
        guard !world.commits.hasFailed, ids.count == 2 else { return }
        await world.retarget(ids[0], to: same)
        await world.retarget(ids[1], to: other)
        await world.advance(by: 1.7, inspecting: false)
        guard !world.commits.hasFailed else { return }
        await world.retarget(ids[1], to: old)
        await world.advance(atMost: 600) { world.commits.hasFailed || world.ledger.open.isEmpty }
    }

    /// The digests that servers announce for the files with seeds 0 to 2.
    private static let announced = (0..<3).map { digest(seed: UInt64($0)) }

    /// Runs tasks whose URLs change from server to server, with network trouble, crashes and power cuts.
    static func wander(_ world: World) async throws {
        let random = world.random
        let tags = ["\"a\"", "\"b\"", "W/\"a\"", nil]
        let urls = (0..<8).map { number in
            var version = ScriptedVersion(
                seed: UInt64(number % 3), size: number < 6 ? size : size + 1, entityTag: tags[random.number(0...3)])
            // Without a digest no download can continue at another URL.
            if number < 6 { version.digest = announced[number % 3] }
            let url = "http://host\(number).example/file"
            world.transport.serve(url, ScriptedResource([version]))
            return url
        }
        let scenario = Scenario(world)
        world.transport.setBandwidth(1_000_000)
        await world.start()
        // Some tasks have mirrors, which differ as much as the URLs do.
        await world.enqueue(
            (0..<4).map { number in
                world.request(urls[number]) { $0.mirrors = number < 2 ? nil : urls.filter { _ in random.chance(0.4) } }
            })
        for _ in 0..<30 {
            if random.chance(0.15) { world.commits.open(for: random.number(0...4)) }
            if let id = random.pick(Array(world.ledger.entries.keys).sorted()), let url = random.pick(urls) {
                switch random.number(0...5) {
                case 0...2: await world.retarget(id, to: url)
                case 3: await world.suspend(id)
                default: await world.resume(id)
                }
            }
            await world.advance(by: random.fraction() * 3)
            guard world.commits.hasFailed else { continue }
            if random.chance(0.7) { try await world.crash() } else { try await world.cutPower(off: 60) }
            try await world.boot()
        }
        world.commits.open()
        await scenario.finish()
    }

    /// Returns the number of times that a download resumed directly after a change of URL.
    static func continuations(_ world: World) async -> Int {
        let journal = await world.journal()
        return world.ledger.entries.keys.reduce(0) { count, id in
            let decisions = journal.filter { $0.task == id }.map(\.decision)
            return count + zip(decisions, decisions.dropFirst()).count { $0 == .retargeted && $1 == .continued }
        }
    }
}
