import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Files that are replaced, and answers that only look as if they were.
    @Suite struct VersionTests {
        private static let url = "http://host.example/file"
        private static let size: Int64 = 3_000_000

        /// Serves a zip that breaks off in the middle, and then what `script` says.
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

        /// A download of it, to its end or until nothing happens for `limit` seconds.
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

        @Test func `B2: a file replaced within the second is not mixed, whatever weak validators stay`() async {
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

        @Test func `T8: a log-in page in place of the rest costs no byte and is not taken for the file`() async {
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

        @Test func `T8: what answers so again and again is the new version, after three quarters of an hour`() async {
            await #expect(processExitsWith: .success) {
                await Self.download("a page for good") { world in
                    Self.serve(world, [.replaced(after: 1_500_000)]) { _, second in
                        second = ScriptedVersion(seed: 4_711, size: 18, entityTag: nil)
                        second.mediaType = "text/html"
                    }
                } check: { world, status, journal in
                    #expect(status?.state == .completed && status?.restarts == 1, "\(String(describing: status))")
                    let times = world.transport.begun.map(\.time)
                    #expect(times.count == 1 + AnswerDoubts.enough)
                    #expect((times.last ?? 0) - times[1] > 2_400)
                    #expect(journal.contains { $0.decision == .restarted })
                }
            }
        }

        @Test func `T8: while the network wants a log-in its answers count for nothing, and then it goes on at once`()
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

        @Test func `B2: a new version that looks like one is fetched at once`() async {
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
