import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import Testing
import Transfers

extension Simulations {
    /// Tests of apps' sessions: accepted tasks, delivered messages, and removal.
    @Suite struct AppSessionTests {
        @Test func `T1: A task that is enqueued again under the same number is not accepted twice`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("asked again") { app in
                    await app.start()
                    let id = try app.install("A")
                    let url = app.serve("one")
                    let first = await app.enqueue(id, "s", [url, url])
                    #expect(first.count == 2)
                    #expect(await app.enqueue(id, "s", [url, url]) == first)
                    // The response was lost, and two requests run at once.
                    let twins = await app.ask { _, transfers in
                        let request = SessionEnqueueRequest(tasks: [
                            SessionTaskRequest(taskIdentifier: 3, request: TaskRequest(url: url))
                        ])
                        async let one = transfers.enqueue(id, "s", request)
                        async let other = transfers.enqueue(id, "s", request)
                        return try await (one, other)
                    }
                    #expect(twins?.0 == twins?.1)
                    try await app.crash()
                    #expect(await app.enqueue(id, "s", [url, url]) == first)
                    // This call adds one new task to known ones.
                    let more = await app.enqueue(id, "s", [url, url, url, url])
                    #expect(more.dropLast() == first + (twins?.0 ?? []))
                    #expect(Set(more).count == 4)
                    let attachment = await app.ask { _, transfers in
                        try await transfers.attach(id, "s", SessionSettings())
                    }
                    #expect(attachment?.nextTaskIdentifier == 5)
                    try await app.stop()
                }
            }
        }

        @Test func `T1: Two simultaneous requests with the same resume data create one task`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("resume data twice") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                    app.world.transport.setBandwidth(500_000)
                    let url = app.serve("large", size: 8_000_000)
                    let task = await app.enqueue(id, "s", [url]).first ?? TaskID(0)
                    await app.advance(by: 4)
                    let token = await app.ask { _, transfers in
                        try await transfers.cancel(task, producingResumeData: true).resumeData
                    }
                    let resumeData = try #require(token ?? nil)
                    var request = TaskRequest(url: nil)
                    request.resumeData = resumeData
                    let asked = SessionEnqueueRequest(tasks: [SessionTaskRequest(taskIdentifier: 2, request: request)])
                    let twins = await app.ask { _, transfers in
                        async let one = transfers.enqueue(id, "s", asked)
                        async let other = transfers.enqueue(id, "s", asked)
                        return try await (one, other)
                    }
                    #expect(twins?.0.count == 1)
                    #expect(twins?.0 == twins?.1)
                    try await app.crash()
                    #expect(await app.ask { try await $1.enqueue(id, "s", asked) } == twins?.0)
                    await app.advance(by: 60)
                    // The task was continued and then ended, and both events were delivered in that order.
                    let told = app.record.sightings.filter { $0.task == 2 }.map(\.kind)
                    #expect(told == [.resumed, .ended])
                    try await app.stop()
                }
            }
        }

        @Test func `T6: Messages arrive once and in order, and an acknowledgement deletes messages and files`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("messages") { app in
                    await app.start()
                    let id = try app.install("A")
                    let urls = (0..<100).map { app.serve("host\($0 % 5).example/\($0)", size: Int64($0) * 700) }
                    var settings = SessionSettings()
                    settings.sessionSendsLaunchEvents = false
                    await app.enqueue(id, "s", urls, settings: settings)
                    // While no process reads the messages, the service keeps all of them.
                    await app.advance(atMost: 600) { await app.kept(id, "s").count == 100 }
                    let kept = await app.kept(id, "s")
                    #expect(kept.map(\.id) == kept.map(\.id).sorted())
                    let files = kept.compactMap(\.task.file)
                    #expect(files.count == 100)
                    #expect(files.allSatisfy { FileManager.default.fileExists(atPath: $0) })

                    app.programs[id]?.sessions = ["s"]
                    let process = try app.startByUser(id)
                    await app.advance(by: 5)
                    #expect(app.record.sightings.map(\.message) == kept.map(\.id))
                    #expect(await app.kept(id, "s").isEmpty)
                    #expect(!files.contains { FileManager.default.fileExists(atPath: $0) })
                    // Acknowledging again without a reader has no effect.
                    await app.ask { try await $1.acknowledge(id, "s", kept.map(\.id)) }
                    app.host.end(process, .exited(0))
                    await app.step()
                    _ = try app.startByUser(id)
                    await app.advance(by: 5)
                    #expect(app.record.sightings.count == 100)
                    // The test simulates a crash after a message was deleted and before the message's file was removed.
                    try Data([1]).write(to: URL(filePath: files[0]))
                    try await app.crash()
                    #expect(!FileManager.default.fileExists(atPath: files[0]))
                    try await app.stop()
                }
            }
        }

        @Test func `T7: Only one process at a time reads a session, until that process dies`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("readers") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                    let other = try app.install("B")
                    let url = app.serve("one")
                    await app.enqueue(id, "s", [])
                    await app.enqueue(other, "s", [])
                    let first = try app.startByUser(id)
                    await app.step()
                    let second = try app.host.startByUser().pid
                    func read(_ app: AppWorld, _ id: AppID, _ process: Int32) async -> String? {
                        guard
                            case .failure(let problem)? = await app.call({
                                _ = try await $1.messages(id, "s", process: process)
                            })
                        else { return nil }
                        return problem.type
                    }
                    #expect(await read(app, id, second) == "/problems/session-in-use")
                    // Another app's session of the same name is a different session.
                    #expect(await read(app, other, second) == nil)
                    app.actors[first]?.disconnect()
                    await app.step()
                    #expect(await read(app, id, second) == "/problems/session-in-use")
                    app.host.end(first, .signalled(9))
                    #expect(await read(app, id, second) == nil)
                    await app.enqueue(id, "s", [url])
                    _ = try app.startByUser(id)
                    await app.advance(by: 5)
                    #expect(app.record.tasks(id, "s") == [1])
                    try await app.stop()
                }
            }
        }

        @Test func `T6: Unacknowledged messages survive a crash after every write`() async {
            await #expect(processExitsWith: .success) {
                var writes = 0
                var goesOn = true
                while goesOn, writes < 200 {
                    var broken = false
                    await Simulation.run("unacknowledged, write \(writes)", seed: UInt64(writes + 1)) { app in
                        app.world.commits.open(for: writes)
                        await app.start()
                        let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                        let urls = (0..<4).map { app.serve("host.example/\($0)", size: 50_000) }
                        let taken = await app.enqueue(id, "s", urls)
                        _ = try? app.startByUser(id)
                        await app.advance(by: 10)
                        broken = app.isDying
                        if broken { try await app.crash() }
                        app.world.commits.open()
                        let again = await app.enqueue(id, "s", urls)
                        if !taken.isEmpty, again != taken {
                            app.world.fail("Accepted tasks were accepted a second time.")
                        }
                        if app.host.living.isEmpty { _ = try app.startByUser(id) }
                        await app.advance(atMost: 600) { await app.isThrough(id, "s", 4) }
                        let told = app.record.tasks(id, "s")
                        if Set(told) != [1, 2, 3, 4] { app.world.fail("Told of the tasks \(told).") }
                        if let left = await app.kept(id, "s").first { app.world.fail("\(left.kind) is left.") }
                        try await app.crash()
                        let files = try FileManager.default.contentsOfDirectory(atPath: app.world.paths.files.path)
                        if !files.isEmpty { app.world.fail("The files \(files) are left.") }
                        try await app.stop()
                    }
                    goesOn = broken
                    writes += 1
                }
                #expect(writes > 8, "The story has only \(writes) writes.")
            }
        }

        @Test func `T9: An app in the foreground receives progress four times a second`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("progress in front") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                    app.world.transport.setBandwidth(100_000, interval: 0.1)
                    let url = app.serve("large", size: 20_000_000)
                    let session = SessionID(app: id, identifier: "s")
                    await app.ask { apps, _ in _ = try await apps.launch(id, LaunchRequest()) }
                    await app.enqueue(id, "s", [url])
                    // The transfer is running.
                    await app.advance(by: 2)
                    let before = app.record.progress[session] ?? 0
                    await app.advance(by: 10)
                    #expect((app.record.progress[session] ?? 0) - before >= 36)
                    try await app.stop()
                }
            }
        }

        @Test func `T9: A suspended app gets no progress, but the app's next process does`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("progress") { app in
                    await app.start()
                    let id = try app.install("A", ScriptedProgram(sessions: ["s"]))
                    app.world.transport.setBandwidth(100_000)
                    let url = app.serve("large", size: 20_000_000)
                    let session = SessionID(app: id, identifier: "s")
                    await app.ask { apps, _ in _ = try await apps.launch(id, LaunchRequest()) }
                    await app.enqueue(id, "s", [url])
                    let process = try #require(app.host.living.first)
                    app.actors[process]?.disconnect()
                    await app.advance(by: 10)
                    let before = app.record.progress[session] ?? 0
                    #expect(before > 5)
                    await app.ask { apps, _ in _ = try await apps.background(id) }
                    await app.step()
                    #expect(app.host.isSuspended(process))
                    await app.advance(by: 10)
                    await app.ask { apps, _ in _ = try await apps.activate(id) }
                    await app.step()
                    // After the app resumes, at most the current progress is delivered.
                    #expect((app.record.progress[session] ?? 0) <= before + 1)
                    await app.advance(by: 10)
                    #expect((app.record.progress[session] ?? 0) > before + 5)
                    // The process is killed while it is suspended. The next process is not treated as suspended.
                    await app.ask { apps, _ in _ = try await apps.background(id) }
                    await app.step()
                    app.host.end(process, .signalled(9))
                    await app.step()
                    let middle = app.record.progress[session] ?? 0
                    await app.ask { apps, _ in _ = try await apps.launch(id, LaunchRequest()) }
                    await app.advance(by: 10)
                    #expect((app.record.progress[session] ?? 0) > middle + 5)
                    try await app.stop()
                }
            }
        }

        @Test func `T9: Tasks from the background start after the relaunch delay, and their wait says so`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("relaunch delay") { app in
                    await app.start()
                    let id = try app.install("A")
                    let task = await app.enqueue(id, "s", [app.serve("one")], delay: 60).first ?? TaskID(0)
                    let wait = await app.world.status(task)?.wait
                    #expect(wait?.reason == .relaunchDelay)
                    #expect(wait?.until == app.world.now.date.addingTimeInterval(60))
                    await app.advance(by: 59)
                    #expect(app.world.transport.begun.isEmpty)
                    try await app.crash()
                    #expect(await app.world.status(task)?.wait?.reason == .relaunchDelay)
                    await app.advance(by: 2)
                    #expect(app.world.transport.begun.count == 1)
                    try await app.stop()
                }
            }
        }

        @Test func `T13: A force quit does not start the tasks that it cancels`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("nothing begins in a force quit") { app in
                    app.world.transport.setWeather { _ in .silent }
                    await app.start()
                    let id = try app.install("A")
                    let url = app.serve("silent")
                    await app.enqueue(id, "s", Array(repeating: url, count: 30))
                    await app.enqueue(id, "t", Array(repeating: url, count: 30))
                    await app.advance(by: 1)
                    let begun = app.world.transport.begun.count
                    #expect((1..<60).contains(begun))
                    await app.ask { apps, _ in _ = try await apps.quit(id, force: true) }
                    await app.advance(by: 5)
                    #expect(await app.kept(id, "s").count == 30)
                    #expect(await app.kept(id, "t").count == 30)
                    #expect(app.world.transport.begun.count == begun)
                    try await app.stop()
                }
            }
        }

        @Test func `T13: A force quit cancels tasks for that reason, and downloads keep their bytes`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("force quit") { app in
                    await app.start()
                    let id = try app.install("A")
                    let other = try app.install("B")
                    app.world.transport.setBandwidth(200_000)
                    let url = app.serve("large", size: 8_000_000)
                    await app.enqueue(id, "s", [url])
                    await app.enqueue(id, "t", [app.serve("nowhere", script: [.silent])])
                    await app.enqueue(id, "t", [url], from: 2) { $0.request.suspended = true }
                    await app.enqueue(other, "s", [url])
                    await app.advance(by: 5)
                    await app.ask { apps, _ in _ = try await apps.quit(id, force: true) }
                    let told = await app.kept(id, "s") + app.kept(id, "t")
                    #expect(told.map(\.kind) == [.ended, .ended, .ended])
                    #expect(told.allSatisfy { $0.task.state == .cancelled && $0.task.error?.code == .forceQuit })
                    #expect(told.map { $0.task.resumeData != nil } == [true, false, false])
                    // The other app's transfer continues, and the app that was quit gets no wakes.
                    #expect(app.world.transport.underWay.count == 1)
                    await app.advance(by: 100)
                    #expect(!app.host.launches.contains { $0.app == id })
                    app.programs[id]?.sessions = ["s", "t"]
                    _ = try app.startByUser(id)
                    await app.step()
                    #expect(app.record.tasks(id, "t") == [1, 2])
                    try await app.stop()
                }
            }
        }

        @Test func `T6: A task without an app does not cause messages`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("no app") { app in
                    await app.start()
                    let task = await app.world.enqueue(app.world.request(app.serve("one")))
                    await app.advance(by: 5)
                    #expect(await app.world.status(task)?.state == .completed)
                    let last = app.world.store.messageSignal.last
                    #expect(last == 0)
                    try await app.stop()
                }
            }
        }

        @Test func `T12: An invalidated session loses its tasks, messages and files`() async {
            await #expect(processExitsWith: .success) {
                await Simulation.run("invalidated") { app in
                    await app.start()
                    let id = try app.install("A")
                    await app.enqueue(id, "s", [app.serve("one"), app.serve("silent", script: [.silent])])
                    await app.advance(by: 2)
                    let file = await app.kept(id, "s").first?.task.file ?? ""
                    #expect(FileManager.default.fileExists(atPath: file))
                    await app.ask { try await $1.invalidate(id, "s") }
                    #expect(!FileManager.default.fileExists(atPath: file))
                    #expect(await app.kept(id, "s").isEmpty)
                    let attachment = await app.ask { try await $1.attach(id, "s", SessionSettings()) }
                    #expect(attachment?.nextTaskIdentifier == 1)
                    try await app.stop()
                }
            }
        }
    }
}

extension AppWorld {
    /// Returns whether the app has handled the ends of this many tasks of a session.
    func isThrough(_ app: AppID, _ session: String, _ count: Int) async -> Bool {
        guard Set(record.tasks(app, session)).count == count else { return false }
        return await kept(app, session).isEmpty
    }
}
