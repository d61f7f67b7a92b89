import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests of responses to uploads.
    @Suite struct AnswerTests {
        @Test(arguments: [10, 1 << 20, 1 << 20 + 1, 5 << 20] as [Int64])
        func `T5: The service stores the whole response to an upload, whatever its length`(size: Int64) async {
            await #expect(processExitsWith: .success) { [size = size as Int64] in
                await Simulation.run("an answer of \(size) bytes") { world in
                    let source = world.directory.path("source")
                    try Data(repeating: 7, count: 1_000).write(to: URL(filePath: source))
                    let url = Story.serve(world, size: size)
                    world.transport.change(url) { $0.uploadAnswer = size }
                    await world.start()
                    let id = await world.enqueue(
                        world.request(url, kept: true) {
                            $0.kind = .upload
                            $0.source = source
                        })
                    await world.advance(by: 600)
                    let status = await world.status(id)
                    #expect(status?.state == .completed && status?.response?.status == 201)
                    let file = try #require(status?.file)
                    #expect(try SeededContent(seed: 1, size: size).firstMismatch(inFileAt: file) == nil)
                    let names = try FileManager.default.contentsOfDirectory(atPath: world.paths.files.path)
                    #expect(names == ["\(id)"])
                    try await world.stop()
                }
            }
        }

        @Test func `T5: The next service fetches a long response whole after a crash`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("a crash within an answer") { world in
                    let source = world.directory.path("source")
                    try Data(repeating: 7, count: 1_000).write(to: URL(filePath: source))
                    let size: Int64 = 5 << 20
                    let url = Story.serve(world, size: size)
                    world.transport.change(url) { $0.uploadAnswer = size }
                    world.transport.setBandwidth(1 << 20)
                    await world.start()
                    let id = await world.enqueue(
                        world.request(url, kept: true) {
                            $0.kind = .upload
                            $0.source = source
                        })
                    await world.advance(by: 3)
                    let folder = world.paths.files.path
                    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).map(\.isEmpty) == [false])
                    #expect(await world.status(id)?.file == nil)
                    try await world.crash()
                    try await world.boot()
                    #expect(!(try FileManager.default.contentsOfDirectory(atPath: folder)).contains("\(id)"))
                    await world.advance(by: 60)
                    let status = await world.status(id)
                    let file = try #require(status?.file, "\(String(describing: status))")
                    #expect(try SeededContent(seed: 1, size: size).firstMismatch(inFileAt: file) == nil)
                    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["\(id)"])
                    try await world.stop()
                }
            }
        }
    }
}
