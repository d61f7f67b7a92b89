import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of downloads with mirrors whose first URL fails.
    @Suite struct MirrorTests {
        private static let bad: [ScriptedBehaviour] = Array(repeating: .cannotConnect, count: 200)

        /// Downloads `old` with `mirrors`, until the download ends or nothing happens for `limit` seconds.
        private static func download(
            _ name: String, mirrors: [String], limit: Double = 600,
            adjust: @escaping @Sendable (inout TaskRequest) -> Void = { $0.priority = nil },
            serving prepare: @escaping @Sendable (World) -> Void,
            meanwhile: @escaping @Sendable (World) async -> Void = { _ in },
            check: @escaping @Sendable (World, TaskStatus?, [JournalEntry]) async -> Void
        ) async {
            await Simulation.run(name) { world in
                prepare(world)
                await world.start()
                let id = await world.enqueue(
                    world.request("http://old.example/file") { request in
                        request.mirrors = mirrors.map { "http://\($0).example/file" }
                        adjust(&request)
                    })
                await meanwhile(world)
                await world.advance(atMost: limit) { world.ledger.open.isEmpty }
                await check(world, await world.status(id), await world.journal())
                try await world.stop()
                #expect(OpenFiles.count(below: world.directory.path) == 0, "\(name)")
            }
        }

        @Test func `B4: A task uses a mirror at once if its first URL is unusable`() async {
            await #expect(processExitsWith: .success) {
                let scripts: [[ScriptedBehaviour]] = [
                    Self.bad, [.status(404)], [.status(410)], [.status(503, retryAfter: "3000")], [.silent],
                ]
                for script in scripts {
                    await Self.download("first: \(script[0])", mirrors: ["new"]) { request in
                        request.headers?.append(HeaderField(name: "Authorization", value: "secret"))
                        request.credential = Credential(user: "ada", password: "secret")
                    } serving: { world in
                        Mirror.serve(world, "old", seed: 1, tag: "\"a\"", script: script)
                        Mirror.serve(world, "new", seed: 1, tag: "\"b\"")
                    } check: { world, status, journal in
                        #expect(status?.state == .completed && status?.attempts == 1, "\(String(describing: status))")
                        let asked = journal.filter { $0.decision == .mirrorAsked }
                        #expect(asked.map(\.detail) == ["http://new.example:80."] && asked[0].error != nil)
                        let mirrored = world.transport.begun.filter { $0.request.url == "http://new.example/file" }
                        #expect(!mirrored.isEmpty)
                        #expect(
                            mirrored.allSatisfy {
                                $0.request.credential == nil && $0.request.headers.first("Authorization") == nil
                            })
                    }
                }
            }
        }

        @Test func `B4: A mirror sends the bytes that follow those of the first URL`() async {
            await #expect(processExitsWith: .success) {
                // With a checksum only the last bytes are compared, and without one all bytes are.
                for isVerified in [true, false] {
                    await Self.download("continues, verified: \(isVerified)", mirrors: ["other", "new"]) { request in
                        if isVerified { request.checksum = Mirror.checksum(seed: 1) }
                    } serving: { world in
                        Mirror.serve(world, "old", seed: 1, tag: "\"a\"", script: [.cut(after: 2_000_000)] + Self.bad)
                        Mirror.serve(world, "other", seed: 2, tag: "\"a\"")
                        Mirror.serve(world, "new", seed: 1, tag: "\"b\"")
                    } check: { world, status, journal in
                        #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
                        let mirrored = world.transport.begun.filter { $0.request.url == "http://new.example/file" }
                        let range = mirrored.last?.request.headers.first("Range")
                        #expect(range == (isVerified ? "bytes=\(2_000_000 - RetargetedBytes.overlap)-" : nil))
                    }
                }
            }
        }

        @Test func `B2: A mirror with the same tag but another file does not contribute bytes`()
            async
        {
            await #expect(processExitsWith: .success) {
                for connections in [1, 4] {
                    await Self.download("the same tag, \(connections)", mirrors: ["other"], limit: 4_000) { request in
                        request.connections = connections
                    } serving: { world in
                        let size: Int64 = 30_000_000
                        let script: [ScriptedBehaviour] = [.cut(after: 9_000_000)] + Self.bad.prefix(12)
                        Mirror.serve(world, "old", seed: 1, size: size, tag: "\"a\"", script: script)
                        Mirror.serve(world, "other", seed: 2, size: size, tag: "\"a\"")
                    } check: { world, status, journal in
                        #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
                        #expect(Mirror.isWhole(status, seed: 1, size: 30_000_000))
                    }
                }
            }
        }

        @Test func `B4: A task tries the first URL again later if it cannot resume from a mirror`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("dated", mirrors: ["other"]) {
                    $0.priority = nil
                } serving: { world in
                    var version = ScriptedVersion(seed: 1, size: Mirror.size, entityTag: nil)
                    version.lastModified = HTTPDate.format(1_700_000_000)
                    world.transport.setBandwidth(1_000_000)
                    world.transport.serve(
                        "http://old.example/file",
                        ScriptedResource([version], script: [.cut(after: 2_000_000), .cannotConnect]))
                    Mirror.serve(world, "other", seed: 2, tag: "\"b\"")
                } check: { world, status, journal in
                    #expect(journal.contains { $0.decision == .mirrorAsked })
                    #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
                    let last = world.transport.begun.last { $0.request.url == "http://old.example/file" }
                    #expect(last?.request.headers.first("Range") == "bytes=2000000-")
                }
            }
        }

        @Test func `B2: The service does not use a mirror that announces another digest`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("another digest", mirrors: ["other"]) { request in
                    request.connections = 4
                } serving: { world in
                    for (host, seed, digest) in [("old", 1, "A"), ("other", 2, "B")] as [(String, UInt64, String)] {
                        var version = ScriptedVersion(seed: seed, size: 12_000_000, entityTag: "\"a\"")
                        // The first URL announces the true digest.
                        version.digest = digest == "A" ? Mirror.digest(seed: 1, size: 12_000_000) : Mirror.wrongDigest
                        world.transport.setBandwidth(1_000_000)
                        world.transport.serve("http://\(host).example/file", ScriptedResource([version]))
                    }
                } check: { world, status, journal in
                    #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
                    #expect(status?.verified == ["sha-256"])
                    let dropped = journal.filter { $0.decision == .mirrorDropped }.compactMap(\.detail)
                    #expect(dropped == ["http://other.example:80: the mirror's file has another digest."])
                }
            }
        }

        @Test func `B4: A mirror's different file replaces the bytes only if the first URL's file is gone`() async {
            await #expect(processExitsWith: .success) {
                for status in [nil, 404] as [Int?] {
                    await Self.download("another file, \(status ?? 0)", mirrors: ["other"]) { world in
                        let end: ScriptedBehaviour = status.map { .status($0) } ?? .cannotConnect
                        Mirror.serve(
                            world, "old", seed: 1, tag: "\"a\"", script: [.cut(after: 2_000_000), end, end, end])
                        Mirror.serve(world, "other", seed: 2, tag: "\"c\"")
                    } check: { world, end, journal in
                        #expect(end?.state == .completed, "\(String(describing: end))")
                        #expect(end?.restarts == (status == nil ? 0 : 1))
                        #expect(journal.contains { $0.decision == .restarted } == (status != nil))
                        let resumed = world.transport.begun.last { $0.request.url == "http://old.example/file" }
                        if status == nil { #expect(resumed?.request.headers.first("Range") != nil) }
                    }
                }
            }
        }

        @Test func `B4: A task whose URLs all fail retries temporary errors, or has the first URL's error`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("all gone", mirrors: ["one", "two"]) { world in
                    Mirror.serve(world, "old", seed: 1, tag: "\"a\"", script: [.status(404)])
                    Mirror.serve(world, "one", seed: 1, tag: "\"b\"", script: [.status(403)])
                    Mirror.serve(world, "two", seed: 1, tag: "\"b\"", script: [.status(410)])
                } check: { _, status, _ in
                    #expect(status?.state == .failed && status?.error?.status == 404, "\(String(describing: status))")
                }
                await Self.download("one may come back", mirrors: ["one"]) { world in
                    Mirror.serve(world, "old", seed: 1, tag: "\"a\"", script: [.status(404), .status(404)])
                    Mirror.serve(world, "one", seed: 1, tag: "\"b\"", script: [.cannotConnect])
                } check: { _, status, _ in
                    #expect(status?.state == .completed && status?.attempts == 2, "\(String(describing: status))")
                }
            }
        }

        @Test func `B4: A task with a checksum requests a URL with a wrong file once, even across a crash`() async {
            await #expect(processExitsWith: .success) {
                for crashes in [false, true] {
                    await Self.download("wrong files, crash: \(crashes)", mirrors: ["one", "new"]) { request in
                        request.checksum = Mirror.checksum(seed: 1)
                    } serving: { world in
                        Mirror.serve(world, "old", seed: 2, tag: "\"a\"")
                        Mirror.serve(world, "one", seed: 3, tag: "\"a\"")
                        Mirror.serve(world, "new", seed: 1, tag: "\"a\"")
                    } meanwhile: { world in
                        await world.advance(atMost: 600) {
                            world.transport.begun.contains { $0.request.url == "http://new.example/file" }
                        }
                        guard crashes else { return }
                        try? await world.crash()
                        try? await world.boot()
                    } check: { world, status, journal in
                        #expect(status?.state == .completed && status?.restarts == 2, "\(String(describing: status))")
                        #expect(Mirror.isWhole(status, seed: 1))
                        for host in ["old", "one"] {
                            let asked = world.transport.begun.filter { $0.request.url == "http://\(host).example/file" }
                            #expect(asked.count == 1, "\(host)")
                        }
                        let wrong = journal.filter { $0.decision == .restarted }.compactMap(\.error)
                        #expect(wrong.map(\.code) == [.checksumMismatch, .checksumMismatch])
                    }
                }
            }
        }

        @Test func `B4: A task fails with a clear error if every URL sends a wrong file`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("all wrong", mirrors: ["one"]) { request in
                    request.checksum = Mirror.checksum(seed: 1)
                } serving: { world in
                    Mirror.serve(world, "old", seed: 2, tag: "\"a\"")
                    Mirror.serve(world, "one", seed: 3, tag: "\"a\"")
                } check: { world, status, _ in
                    #expect(status?.state == .failed && status?.error?.code == .checksumMismatch)
                    #expect(status?.error?.message.hasSuffix("None of its 2 URLs has the right file.") == true)
                    #expect(world.transport.begun.count == 2)
                }
            }
        }

        @Test func `B4: A file that was fetched in parts keeps all parts if a mirror has another tag`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("parts", mirrors: ["new"]) { world in
                    Mirror.serve(world, "old", seed: 1, size: 30_000_000, tag: "\"a\"")
                    Mirror.serve(world, "new", seed: 1, size: 30_000_000, tag: "\"b\"")
                } meanwhile: { world in
                    await world.advance(by: 4.6)
                    world.transport.change("http://old.example/file") { $0.script = Array(Self.bad.prefix(30)) }
                    world.transport.setOnline(false)
                    world.transport.setOnline(true)
                } check: { world, status, journal in
                    #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
                    #expect(journal.contains { $0.decision == .mirrorAsked })
                    #expect(!journal.contains { $0.decision == .undivided })
                }
            }
        }
    }
}
