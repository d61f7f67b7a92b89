import NightshiftAPI
import SimulationSupport
import Store
import Testing
import Transfers

extension Simulations {
    /// Tests of apps' tasks that are given other URLs.
    @Suite struct AppRetargetTests {
        @Test func `T7: A change of URL removes the challenge of the old URL's server`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("retargeted question") { app in
                    await app.start()
                    var program = ScriptedProgram(sessions: ["s"])
                    program.answer = { _ in nil }
                    let id = try app.install("A", program)
                    let guarded = ScriptedProtection.basic(
                        host: "guarded.example", realm: "files", user: "anna", password: "right")
                    let free = app.serve("free.example/file")
                    await app.enqueue(id, "s", [app.serve("guarded.example/file", protection: guarded)])
                    await app.advance(by: 5)
                    let question = try #require(await app.kept(id, "s").first)
                    #expect(question.kind == .challenge)
                    let task = question.task.id
                    await app.ask { _ = try await $1.retarget(task, RetargetRequest(url: free)) }
                    #expect(await app.kept(id, "s").allSatisfy { $0.kind != .challenge })
                    await app.advance(atMost: 600) { await app.isThrough(id, "s", 1) }
                    #expect(await app.ended(id, "s").map(\.request.url) == [free])
                    try await app.stop()
                }
            }
        }
    }
}
