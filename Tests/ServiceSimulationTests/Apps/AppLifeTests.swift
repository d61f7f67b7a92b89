import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import Testing
import Transfers

extension Simulations {
    /// Tests of apps with their processes, in the service and in virtual time.
    @Suite struct AppLifeTests {
        @Test func `T9: An exited app is launched once when its last task ends, and is then suspended`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("one launch") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s", "t"]))
                    app.world.transport.setBandwidth(100_000)
                    let small = app.serve("small", size: 1_000)
                    let large = app.serve("large", size: 1_000_000)
                    await app.enqueue(id, "s", [small, large])
                    await app.enqueue(id, "t", [small, large])
                    await app.advance(by: 5)
                    // One task has ended, but it is not the last one.
                    #expect(await app.kept(id, "s").count == 1)
                    #expect(app.host.launches.isEmpty)
                    await app.advance(atMost: 120) {
                        let isThrough = await app.isThrough(id, "s", 2)
                        return await app.isThrough(id, "t", 2) && isThrough
                    }
                    await app.advance(by: 1)
                    #expect(app.host.launches.map { $0.environment["NIGHTSHIFT_LAUNCH"] } == ["background"])
                    let status = await app.status(id)
                    #expect(status?.state == .suspended)
                    #expect(status?.wakes == [])
                    #expect(app.record.completed.count == 2)
                    let process = try #require(status?.processID)
                    #expect(app.host.isSuspended(process))
                    // The same process is resumed for the next event.
                    await app.enqueue(id, "s", [small], from: 3)
                    await app.advance(atMost: 60) { await app.isThrough(id, "s", 3) }
                    await app.advance(by: 1)
                    #expect(app.host.launches.count == 1)
                    #expect(app.host.isSuspended(process))
                    try await app.stop()
                }
            }
        }

        @Test func `T9: Two sessions that end at the same time share one launch`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("shared launch") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(links: false, status: 0))
                    await app.enqueue(id, "s", [app.serve("one")])
                    await app.enqueue(id, "t", [app.serve("two")])
                    await app.advance(by: 30)
                    #expect(await app.kept(id, "s").isEmpty)
                    #expect(await app.kept(id, "t").isEmpty)
                    #expect((1...2).contains(app.host.launches.count))
                    #expect(await app.status(id)?.state == .notRunning)
                    #expect(await app.status(id)?.faults == 0)
                    try await app.stop()
                }
            }
        }

        @Test func `T11: An app that fails on every wake is launched after longer and longer pauses`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("faults") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(links: false, status: 3))
                    await app.enqueue(id, "s", [app.serve("one")])
                    var times: [Double] = []
                    await app.advance(atMost: 400) {
                        while times.count < app.host.launches.count { times.append(app.world.now.bootSeconds) }
                        return false
                    }
                    let pauses = zip(times.dropFirst(), times).map { ($0 - $1).rounded() }
                    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128])
                    #expect(await app.status(id)?.launchesPausedUntil != nil)
                    // The pauses survive a crash.
                    try await app.crash()
                    await app.advance(by: 20)
                    #expect(app.host.launches.count == times.count)
                    // The service has not lost any events.
                    app.programs[id]?.status = 0
                    await app.advance(atMost: 600) { await app.kept(id, "s").isEmpty }
                    #expect(await app.kept(id, "s").isEmpty)
                    #expect(await app.status(id)?.faults == 0)
                    try await app.stop()
                }
            }
        }

        @Test func `T11: An app that cannot be started is retried like one that crashes`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("cannot start") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                    app.host.setLaunchFailure(LaunchFailure("No such program."))
                    await app.enqueue(id, "s", [app.serve("one")])
                    await app.advance(by: 20)
                    let status = await app.status(id)
                    #expect(status?.state == .notRunning)
                    #expect(status?.lastExit?.cause == .launchFailed)
                    #expect((4...6).contains(status?.faults ?? 0))
                    app.host.setLaunchFailure(nil)
                    await app.advance(atMost: 60) { await app.isThrough(id, "s", 1) }
                    #expect(app.host.launches.count == 1)
                    try await app.stop()
                }
            }
        }

        @Test func `T11: An app that exceeds its wake limit is killed once, even if it exits slowly`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("never completes") { app in
                    await app.start()
                    var program = ScriptedProgram(sessions: ["s"])
                    program.completes = false
                    program.reads = false
                    let id = try app.install("A", program, keys: "X-Nightshift-WakeLimit=12\n")
                    await app.enqueue(id, "s", [app.serve("one")])
                    await app.advance(atMost: 10) { !app.host.launches.isEmpty }
                    app.host.setIgnoresKills(true)
                    await app.advance(by: 30)
                    let process = try #require(app.host.living.first)
                    app.host.end(process, .signalled(9))
                    app.host.setIgnoresKills(false)
                    app.programs[id]?.completes = true
                    app.programs[id]?.reads = true
                    await app.step()
                    #expect(await app.status(id)?.lastExit?.cause == .eventsOverdue)
                    #expect(await app.status(id)?.faults == 1)
                    await app.advance(by: 5)
                    #expect(await app.status(id)?.state == .suspended)
                    try await app.stop()
                }
            }
        }

        @Test func `L1: An app that reconnects gets only its unacknowledged commands again`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("connects again") { app in
                    await app.start()
                    var program = ScriptedProgram(sessions: ["s"])
                    program.completes = false
                    let id = try app.install("A", program)
                    await app.enqueue(id, "s", [app.serve("one")])
                    await app.advance(atMost: 10) { app.actors.values.first?.commands.isEmpty == false }
                    let actor = try #require(app.actors.values.first)
                    let before = actor.commands
                    #expect(before.map(\.action) == [.handleEvents])
                    for _ in 0..<3 {
                        actor.disconnect()
                        actor.commands = []
                        await app.step()
                        #expect(actor.commands == before)
                        #expect(actor.hello?.state == .background)
                    }
                    app.programs[id]?.completes = true
                    await app.step()
                    #expect(await app.status(id)?.state == .suspended)
                    #expect(app.record.completed.count == 1)
                    try await app.stop()
                }
            }
        }

        @Test func `L1: A secondary process of a running app gets no commands and does not change the state`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("guests") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram())
                    await app.ask { apps, _ in _ = try await apps.launch(id, LaunchRequest()) }
                    await app.step()
                    let owner = try #require(app.host.living.first)
                    let guest = try app.startByUser(id)
                    await app.step()
                    #expect(app.actors[guest]?.hello?.isManaged == false)
                    #expect(app.actors[guest]?.hello?.state == .active)
                    await app.ask { apps, _ in try await apps.change(process: guest, to: .background) }
                    #expect(await app.status(id)?.state == .active)
                    await app.ask { apps, _ in _ = try await apps.background(id) }
                    await app.step()
                    #expect(app.host.isSuspended(owner))
                    #expect(!app.host.isSuspended(guest))
                    #expect(app.record.states[guest] == nil)
                    app.host.end(guest, .exited(0))
                    await app.step()
                    #expect(await app.status(id)?.state == .suspended)
                    #expect(await app.status(id)?.processID == owner)
                    try await app.stop()
                }
            }
        }

        @Test func `L1: A process not launched by the service is never suspended, but gets events`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("unmanaged") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                    await app.enqueue(id, "s", [])
                    let process = try app.startByUser(id)
                    await app.step()
                    await app.ask { apps, _ in try await apps.change(process: process, to: .background) }
                    await app.advance(by: 100)
                    #expect(await app.status(id)?.state == .background)
                    await app.enqueue(id, "s", [app.serve("one")])
                    await app.advance(by: 30)
                    #expect(app.record.tasks(id, "s") == [1])
                    try await app.crash()
                    await app.advance(by: 100)
                    #expect(app.host.launches.isEmpty)
                    #expect(!app.host.deeds.contains { if case .suspended = $0 { true } else { false } })
                    #expect(await app.status(id)?.isManaged == false)
                    try await app.stop()
                }
            }
        }

        @Test func `T9: A session that launches its app needs a background mode, and the refusal names it`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("modes") { app in
                    await app.start()
                    let id = try app.install("A", keys: "X-Nightshift-BackgroundModes=fetch;\n")
                    let other = try app.install("B")
                    let refused = await app.call { apps, _ in try await apps.mayKeepSessions(id, launchEvents: true) }
                    guard case .failure(let problem)? = refused else { return app.world.fail("It was not refused.") }
                    #expect(problem.type == "/problems/invalid")
                    #expect(problem.detail?.contains("X-Nightshift-BackgroundModes") == true)
                    await app.ask { apps, _ in try await apps.mayKeepSessions(id, launchEvents: false) }
                    await app.ask { apps, _ in try await apps.mayKeepSessions(other, launchEvents: true) }
                    // A session without launch events never launches the app.
                    var settings = SessionSettings()
                    settings.sessionSendsLaunchEvents = false
                    await app.enqueue(other, "s", [app.serve("one")], settings: settings)
                    await app.advance(by: 60)
                    #expect(app.host.launches.isEmpty)
                    #expect(await app.kept(other, "s").count == 1)
                    try await app.stop()
                }
            }
        }

        @Test func `T9: The delay for new tasks grows with each wake, and survives a crash`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("start delay") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                    let url = app.serve("one")
                    var delays: [Double] = []
                    for number in 1...3 {
                        await app.enqueue(id, "s", [url], from: Int64(number))
                        await app.advance(atMost: 30) { await app.isThrough(id, "s", number) }
                        await app.step()
                        delays.append(await app.startDelay(id) ?? 0)
                        if number == 2 { try await app.crash() }
                    }
                    #expect(delays.map { ($0 / 10).rounded() * 10 } == [60, 120, 240])
                    await app.ask { apps, _ in _ = try await apps.activate(id) }
                    #expect(await app.startDelay(id) == nil)
                    try await app.stop()
                }
            }
        }

        @Test func `L1: A caller that waits for an app to exit returns when the service stops`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("stop during quit") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(obeys: false))
                    await app.ask { apps, _ in _ = try await apps.launch(id, LaunchRequest()) }
                    await app.step()
                    app.host.setIgnoresKills(true)
                    let quit = Task { [apps = app.apps] in _ = try? await apps.quit(id, force: false) }
                    await app.world.settle()
                    await app.world.call { [apps = app.apps] in await apps.stop() }
                    await app.world.call { await quit.value }
                    try await app.stop()
                }
            }
        }
    }
}
