import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of files that are replaced, and of responses that only look like a replacement.
    @Suite struct VersionTests {
        private static let url = "http://host.example/file"
        private static let size: Int64 = 3_000_000

        /// Serves a zip whose transfer breaks off in the middle, and then follows `script`.
        private static func serve(
            _ world: World, _ script: [ScriptedBehaviour] = [],
            adjust: (inout ScriptedVersion, inout ScriptedVersion) -> Void = { _, _ in }
        ) {
            var first = ScriptedVersion(seed: 1, size: size, entityTag: "\"a\"")
            first.mediaType = "application/zip"
            var second = ScriptedVersion(seed: 2, size: size, entityTag: "\"b\"")
            second.mediaType = "application/zip"
            adjust(&first, &second)
            world.transport.setBandwidth(1_000_000)
            world.transport.serve(url, ScriptedResource([first, second], script: script))
        }

        /// Downloads the file, until the download ends or nothing happens for `limit` seconds.
        private static func download(
            _ name: String, limit: Double = 90_000, serving prepare: @escaping @Sendable (World) -> Void,
            meanwhile: @escaping @Sendable (World, TaskID) async -> Void = { _, _ in },
            check: @escaping @Sendable (World, TaskStatus?, [JournalEntry]) async -> Void
        ) async {
            await Simulation.run(name, jitter: 1) { world in
                prepare(world)
                await world.start()
                let id = await world.enqueue(world.request(url))
                await meanwhile(world, id)
                await world.advance(atMost: limit) { world.ledger.open.isEmpty }
                await check(world, await world.status(id), await world.journal())
                try await world.stop()
                #expect(OpenFiles.count(below: world.directory.path) == 0, "\(name)")
            }
        }

        @Test func `B2: A file that is replaced within one second is not mixed with the old file`() async {
            await #expect(processExitsWith: .success) {
                for tag in ["W/\"a\"", nil] {
                    await Self.download("same second, \(tag ?? "no tag")") { world in
                        Self.serve(world, [.replaced(after: 2_000_000)]) { first, second in
                            first.entityTag = tag
                            first.lastModified = HTTPDate.format(1_800_000_000)
                            second.entityTag = first.entityTag
                            second.lastModified = first.lastModified
                        }
                    } check: { world, status, journal in
                        #expect(status?.state == .completed && status?.restarts == 1, "\(String(describing: status))")
                        #expect(world.transport.begun.allSatisfy { $0.request.headers.first("Range") == nil })
                        #expect(Mirror.isWhole(status, seed: 2, size: Self.size))
                    }
                }
            }
        }

        @Test func `T8: A log-in page that is sent instead of the rest is not saved, and the bytes stay`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("two pages") { world in
                    Self.serve(world, [.cut(after: 1_500_000), .page, .page])
                } meanwhile: { world, id in
                    await world.advance(by: 10)
                    let status = await world.status(id)
                    #expect(status?.wait?.reason == .doubtfulAnswer, "\(String(describing: status))")
                    #expect(status?.wait?.detail?.contains("18 bytes of text/html") == true)
                    #expect(status?.countOfBytesReceived == 1_500_000)
                } check: { world, status, journal in
                    #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
                    #expect(world.transport.begun.last?.request.headers.first("Range") == "bytes=1500000-")
                    #expect(
                        journal.contains { $0.decision == .continued }
                            && !journal.contains { $0.decision == .restarted })
                }
            }
        }

        @Test func `T8: A response that is repeated for 40 minutes is accepted as the new version`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("a page for good") { world in
                    Self.serve(world, [.replaced(after: 1_500_000)]) { _, second in
                        second = ScriptedVersion(seed: 4_711, size: 18, entityTag: nil)
                        second.mediaType = "text/html"
                    }
                } check: { world, status, journal in
                    #expect(status?.state == .completed && status?.restarts == 1, "\(String(describing: status))")
                    let times = world.transport.begun.map(\.time)
                    #expect(times.count == 1 + SuspectResponses.enough)
                    #expect((times.last ?? 0) - times[1] > 2_400)
                    #expect(journal.contains { $0.decision == .restarted })
                }
            }
        }

        @Test func `T8: A download ignores responses of a captive portal, and continues after the log-in`()
            async
        {
            await #expect(processExitsWith: .success) {
                await Self.download("portal") { world in
                    Self.serve(world, [.cut(after: 1_500_000)] + Array(repeating: .page, count: 400))
                } meanwhile: { world, id in
                    await world.change { $0.conditions.network.connectivity = .portal }
                    await world.advance(by: 12 * 3_600)
                    let status = await world.status(id)
                    #expect(
                        status?.state == .waiting && status?.wait?.reason == .portal, "\(String(describing: status))")
                    #expect(world.transport.begun.count < 20)
                    world.transport.change(Self.url) { $0.script = [] }
                    await world.change { $0.conditions.network.connectivity = .full }
                    await world.advance(by: 5)
                    #expect(await world.status(id)?.state == .completed)
                } check: { world, status, journal in
                    #expect(status?.restarts == 0)
                }
            }
        }

        /// Downloads a URL whose first responses are pages, until the download ends.
        private static func downloadAfterPages(
            _ url: String, pages: Int, isBehindPortal: Bool = false,
            meanwhile: @escaping @Sendable (World, TaskID) async -> Void,
            check: @escaping @Sendable (World, TaskStatus?) async -> Void
        ) async {
            await Simulation.run("\(url) after \(pages) pages", jitter: 1) { world in
                let version = ScriptedVersion(seed: 1, size: size, entityTag: "\"a\"")
                world.transport.setBandwidth(1_000_000)
                world.transport.serve(
                    url, ScriptedResource([version], script: Array(repeating: .page, count: pages)))
                await world.start()
                if isBehindPortal { await world.change { $0.conditions.network.connectivity = .portal } }
                let id = await world.enqueue(world.request(url))
                await meanwhile(world, id)
                await world.advance(atMost: 90_000) { world.ledger.open.isEmpty }
                await check(world, await world.status(id))
                try await world.stop()
            }
        }

        @Test func `T8: A page that is sent instead of a file is not saved, and the later file is saved`()
            async
        {
            await #expect(processExitsWith: .success) {
                await Self.downloadAfterPages("http://host.example/big.iso", pages: 1) { world, id in
                    await world.advance(by: 10)
                    let status = await world.status(id)
                    #expect(status?.wait?.reason == .doubtfulAnswer, "\(String(describing: status))")
                    #expect(status?.wait?.detail?.contains("instead of big.iso") == true)
                } check: { world, status in
                    #expect(status?.state == .completed && status?.response?.remark == nil)
                    #expect(Mirror.isWhole(status, seed: 1, size: Self.size))
                }
            }
        }

        @Test func `T8: A page that is sent twice instead of a file is saved, and the task says so`() async {
            await #expect(processExitsWith: .success) {
                await Self.downloadAfterPages("http://host.example/big.iso", pages: 100) { _, _ in
                } check: { world, status in
                    #expect(status?.state == .completed && status?.response?.remark == .page)
                    #expect(status?.countOfBytesReceived == 18 && world.transport.begun.count == 2)
                }
            }
        }

        @Test func `T8: The service saves no page as a new file while the network requires a log-in`() async {
            await #expect(processExitsWith: .success) {
                for url in ["http://host.example/big.iso", "http://host.example/", "http://host.example/a.html"] {
                    await Self.downloadAfterPages(url, pages: 400, isBehindPortal: true) { world, id in
                        await world.advance(by: 12 * 3_600)
                        let status = await world.status(id)
                        #expect(
                            status?.state == .waiting && status?.wait?.reason == .portal,
                            "\(String(describing: status))")
                        world.transport.change(url) { $0.script = [] }
                        await world.change { $0.conditions.network.connectivity = .full }
                    } check: { world, status in
                        #expect(status?.state == .completed && status?.response?.remark == nil)
                        #expect(Mirror.isWhole(status, seed: 1, size: Self.size))
                    }
                }
            }
        }

        /// Serves a tus server that has received 1 MB of an upload when `script` begins.
        private static func serveUpload(_ world: World, _ script: [ScriptedBehaviour]) {
            let version = ScriptedVersion(seed: 1, size: size, entityTag: nil)
            world.transport.setBandwidth(1_000_000)
            let created = ScriptedBehaviour.says(201, ["Location": "/upload", "Tus-Resumable": "1.0.0"])
            world.transport.serve(url, ScriptedResource([version], script: [created]))
            world.transport.serve(
                "http://host.example/upload", ScriptedResource([version], script: [.cut(after: 1_000_000)] + script))
        }

        /// The server's responses to the offset query and to the rest of the upload.
        private static let resumption = [
            ScriptedBehaviour.says(204, ["Upload-Offset": "1000000", "Tus-Resumable": "1.0.0"]),
            .says(204, ["Upload-Offset": "\(size)", "Tus-Resumable": "1.0.0"]),
        ]

        /// Uploads to this server, until the upload ends.
        private static func upload(
            _ name: String, _ script: [ScriptedBehaviour], snapshot: SnapshotPolicy? = nil,
            meanwhile: @escaping @Sendable (World, TaskID) async -> Void
        ) async {
            await Simulation.run(name, jitter: 1) { world in
                serveUpload(world, script)
                let source = try world.directory.write(String(repeating: "x", count: Int(size)), to: "source")
                await world.start()
                let id = await world.enqueue(
                    world.request(url, kept: true) { request in
                        request.kind = .upload
                        request.source = source
                        request.resumption = .tus
                        request.snapshot = snapshot
                    })
                await meanwhile(world, id)
                await world.advance(atMost: 90_000) { world.ledger.open.isEmpty }
                let status = await world.status(id)
                #expect(status?.state == .completed && status?.restarts == 0, "\(String(describing: status))")
                #expect(status?.response?.status == 204 && status?.countOfBytesSent == size)
                let last = world.transport.begun.last?.request
                #expect(last?.method == "PATCH" && last?.headers.first("Upload-Offset") == "1000000")
                #expect(await world.journal().contains { $0.decision == .uploadRestarted } == false)
                try await world.stop()
            }
        }

        @Test func `T8: An upload does not accept a log-in page as its response, and continues later`() async {
            await #expect(processExitsWith: .success) {
                await Self.upload("two pages for an upload", [.page, .page] + Self.resumption) { world, id in
                    await world.advance(by: 10)
                    let status = await world.status(id)
                    #expect(status?.wait?.reason == .doubtfulAnswer, "\(String(describing: status))")
                    #expect(status?.wait?.detail?.contains("200 OK (text/html)") == true)
                }
            }
        }

        @Test func `T8: An upload waits while the network requires a log-in, and then continues at once`() async {
            await #expect(processExitsWith: .success) {
                await Self.upload("portal for an upload", Array(repeating: .page, count: 400)) { world, id in
                    await world.change { $0.conditions.network.connectivity = .portal }
                    await world.advance(by: 12 * 3_600)
                    let status = await world.status(id)
                    #expect(
                        status?.state == .waiting && status?.wait?.reason == .portal, "\(String(describing: status))")
                    #expect(world.transport.begun.count < 20)
                    world.transport.change("http://host.example/upload") { $0.script = Self.resumption }
                    await world.change { $0.conditions.network.connectivity = .full }
                    await world.advance(by: 10)
                    #expect(await world.status(id)?.state == .completed)
                }
            }
        }

        /// Changes the device and inode numbers in the rows, as happens when file systems are mounted again.
        private static func renumber(_ keys: [String], in database: URL) async {
            let program = """
                import json, sqlite3, sys
                def renumbered(value):
                    if isinstance(value, list): return [renumbered(each) for each in value]
                    if not isinstance(value, dict): return value
                    return {key: each + 1 if key in sys.argv[2:] else renumbered(each) for key, each in value.items()}
                rows = sqlite3.connect(sys.argv[1])
                changed = 0
                for column in ["source", "upload_source"]:
                    found = rows.execute(f"SELECT id, {column} FROM tasks WHERE {column} IS NOT NULL").fetchall()
                    for id, value in found:
                        text = json.dumps(renumbered(json.loads(value)))
                        changed += rows.execute(f"UPDATE tasks SET {column} = ? WHERE id = ?", (text, id)).rowcount
                rows.commit()
                print(changed)
                """
            let outcome = try? await ChildProcess.run(
                "python3", ["-c", program, database.path(percentEncoded: false)] + keys)
            #expect(outcome?.code == 0 && outcome?.output != "0\n", "\(outcome?.errors ?? "")")
        }

        @Test func `T8: An upload continues after a reboot that changed device numbers`() async {
            await #expect(processExitsWith: .success) {
                for snapshot in [nil, SnapshotPolicy.copy] {
                    await Self.upload("other devices", Self.resumption, snapshot: snapshot) { world, id in
                        await world.advance(by: 1.5)
                        #expect(await world.status(id)?.state == .waiting)
                        if snapshot != nil { unlink(world.directory.path("source")) }
                        await Self.renumber(
                            snapshot == nil ? ["device"] : ["device", "inode"], in: world.paths.database)
                    }
                }
            }
        }

        @Test func `B2: A plausible new version of a file is fetched at once`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("a new version") { world in
                    Self.serve(world, [.replaced(after: 1_500_000)])
                } check: { world, status, journal in
                    #expect(status?.state == .completed && status?.restarts == 1, "\(String(describing: status))")
                    let times = world.transport.begun.map(\.time)
                    #expect(times.count == 2 && times[1] - times[0] < 10, "\(times)")
                }
            }
        }
    }
}
