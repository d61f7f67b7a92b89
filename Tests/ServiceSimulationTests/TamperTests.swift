import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests in which another program changes partial files, or creates files under their names first.
    @Suite struct TamperTests {
        static let size: Int64 = 6_000_000

        /// The kinds of changes to a partial file.
        enum Deed: CaseIterable {
            case symlink, append, truncate, hardLink, anotherFile, remove

            func commit(on path: String, in directory: TemporaryDirectory) throws {
                let spare = directory.path("spare-\(self)")
                switch self {
                case .symlink:
                    try FileManager.default.moveItem(atPath: path, toPath: spare)
                    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: spare)
                case .append:
                    let handle = try FileHandle(forWritingTo: URL(filePath: path))
                    try handle.seekToEnd()
                    try handle.write(contentsOf: Data(repeating: 0x21, count: 3_000))
                    try handle.close()
                case .truncate: guard Glibc.truncate(path, 1_000) == 0 else { throw SystemError("truncate") }
                case .hardLink: try FileManager.default.linkItem(atPath: path, toPath: spare)
                case .anotherFile:
                    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
                    try FileManager.default.moveItem(atPath: path, toPath: spare)
                    try Data(repeating: 0x21, count: size).write(to: URL(filePath: path))
                case .remove: try FileManager.default.removeItem(atPath: path)
                }
            }
        }

        /// The time of the change.
        enum Moment: CaseIterable { case running, suspended, stopped, killed }

        private static func partial(_ world: World) throws -> String {
            let names = try FileManager.default.contentsOfDirectory(atPath: world.paths.partials.path)
            let parts = names.filter { $0.hasSuffix(".part") }
            #expect(parts.count == 1, "\(parts)")
            return world.paths.partials.appending(path: parts.first ?? "").path
        }

        private static func story(_ deed: Deed, _ moment: Moment) async {
            await Simulation.run("\(deed), \(moment)") { world in
                let url = Mirror.serve(world, "host", seed: 1, size: size, tag: "\"a\"")
                world.inspector.filesAreUntouched = false
                await world.start()
                let id = await world.enqueue(world.request(url))
                await world.advance(by: 3.3)
                switch moment {
                case .running: break
                case .suspended: await world.suspend(id)
                case .stopped: try await world.stop()
                case .killed: try await world.crash()
                }
                try deed.commit(on: partial(world), in: world.directory)
                switch moment {
                case .running: break
                case .suspended: await world.resume(id)
                case .stopped, .killed: try await world.boot()
                }
                await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                let status = await world.status(id)
                #expect(status?.state == .completed, "\(deed), \(moment): \(String(describing: status))")
                let content = SeededContent(seed: 1, size: size)
                #expect(try content.firstMismatch(inFileAt: status?.file ?? "") == nil, "\(deed), \(moment)")
                let standing = try FileManager.default.attributesOfItem(atPath: status?.file ?? "")
                #expect(standing[.type] as? FileAttributeType == .typeRegular, "\(deed), \(moment)")
                #expect(standing[.referenceCount] as? Int == 1, "\(deed), \(moment)")
                // Bytes that were appended while the service does not write are cut off. Every other change is recorded
                // in the journal.
                if deed != .append {
                    let restarts = await world.journal().filter { $0.decision == .restarted }
                    #expect(!restarts.isEmpty, "\(deed), \(moment)")
                }
                try await world.stop()
                let left = try FileManager.default.contentsOfDirectory(atPath: world.paths.partials.path)
                #expect(left.filter { $0.hasSuffix(".part") } == [], "\(deed), \(moment)")
                #expect(OpenFiles.count(below: world.directory.path) == 0)
            }
        }

        @Test func `B2: The finished file contains only bytes that the service wrote`() async {
            await #expect(processExitsWith: .success) {
                for moment in Moment.allCases {
                    // After a kill the file's length is the only record of the bytes that the last exchange wrote.
                    for deed in Deed.allCases where moment != .killed || deed != .append {
                        await Self.story(deed, moment)
                    }
                }
            }
        }

        @Test func `B2: A partial file next to its destination is new and has an unguessable name`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("shared directory") { world in
                    let shared = try TemporaryDirectory(in: "/tmp")
                    let url = Mirror.serve(world, "host", seed: 1, size: Self.size, tag: "\"a\"")
                    // These are the predictable names that earlier versions of the service used.
                    let tag = String(
                        world.paths.state.path.utf8.reduce(2_166_136_261 as UInt32) {
                            ($0 ^ UInt32($1)) &* 16_777_619
                        }, radix: 16)
                    for id in 1...2 { try shared.write("mine", to: ".nightshift-\(tag)-\(id).a.part") }
                    let planted = try Set(FileManager.default.contentsOfDirectory(atPath: shared.path))
                    await world.start()
                    let ids = await world.enqueue(
                        (0..<2).map { _ in
                            world.request(url) { $0.destination?.directory = shared.path }
                        })
                    await world.advance(by: 2)
                    let names = try Set(FileManager.default.contentsOfDirectory(atPath: shared.path))
                        .subtracting(planted)
                    #expect(names.count == 2, "\(names)")
                    for name in names {
                        #expect(name.hasPrefix(".nightshift-") && name.utf8.count >= 44, "\(name)")
                        let standing = try FileManager.default.attributesOfItem(atPath: shared.path(name))
                        #expect(standing[.posixPermissions] as? Int == 0o600)
                    }
                    for id in 1...2 {
                        #expect(try fileBytes(shared.path(".nightshift-\(tag)-\(id).a.part")) == Array("mine".utf8))
                    }
                    await world.advance(atMost: 600) { world.ledger.open.isEmpty }
                    for id in ids { #expect(await world.status(id)?.state == .completed) }
                    try await world.stop()
                }
            }
        }

        @Test func `B1: An overwrite of a directory fails at once, and the received bytes stay`()
            async
        {
            await #expect(processExitsWith: .success) {
                await Simulation.run("directory") { world in
                    let url = Mirror.serve(world, "host", seed: 1, size: 100_000, tag: "\"a\"")
                    await world.start()
                    var request = world.request(url) { $0.destination?.overwrite = true }
                    let name = request.destination?.filename ?? ""
                    let id = await world.enqueue(request)
                    // The directory did not exist when the task was accepted.
                    mkdir("\(world.downloads)/\(name)", 0o755)
                    let done = await world.advance(atMost: 60) { world.ledger.open.isEmpty }
                    let status = await world.status(id)
                    #expect(done && status?.state == .failed, "\(String(describing: status))")
                    #expect(status?.error?.code == .destinationUnavailable)
                    #expect(status?.error?.message.contains("is a directory") == true)
                    let content = SeededContent(seed: 1, size: 100_000)
                    #expect(try content.firstMismatch(inFileAt: status?.file ?? "") == nil)
                    // If the directory already exists, the request is refused.
                    request.headers = nil
                    let refused = await world.call { [service = world.service, request] in
                        do throws(Problem) {
                            _ = try await service.enqueue(EnqueueRequest(tasks: [request]))
                            return nil as Problem?
                        } catch {
                            return error
                        }
                    }
                    #expect(refused??.pointer == "/tasks/0/destination/filename")
                    rmdir("\(world.downloads)/\(name)")
                    try await world.stop()
                }
            }
        }
    }
}
