import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import Testing
import Transfers

extension Simulations {
    /// Tests in which the service crashes after every n-th write, with apps in every state. The processes of the apps
    /// keep running.
    @Suite struct AppCrashTests {
        @Test func `T9: The service delivers everything after a crash at any write, and each wake once`() async {
            await #expect(processExitsWith: .success) {
                var writes = 0
                var goesOn = true
                while goesOn, writes < 400 {
                    var broken = false
                    await Simulation.run("apps, write \(writes)", seed: UInt64(writes + 1)) { app in
                        let cast = try AppCast(app)
                        app.world.commits.open(for: writes)
                        await app.start()
                        await cast.play()
                        broken = app.isDying
                        if broken { try await app.crash() }
                        app.world.commits.open()
                        await cast.finish()
                        try await app.stop()
                    }
                    goesOn = broken
                    writes += 1
                }
                #expect(writes > 20, "The story has only \(writes) writes.")
            }
        }

        @Test func `T9: The service delivers everything despite random crashes of services and apps`() async {
            print("apps: seeds \(Rounds.seeds(default: 6))")
            await #expect(processExitsWith: .success) {
                for seed in Rounds.seeds(default: 6) {
                    await Simulation.run("apps", seed: seed &+ 5_000) { app in
                        let cast = try AppCast(app)
                        let random = app.world.random
                        await app.start()
                        for _ in 0..<5 {
                            app.world.commits.open(for: random.number(0...25))
                            await cast.play()
                            for _ in 0..<4 where !app.isDying {
                                if let process = random.pick(app.host.living), random.chance(0.5) {
                                    app.host.end(process, random.pick([.signalled(9), .exited(0)]) ?? .exited(1))
                                }
                                if let id = random.pick(cast.all), random.chance(0.4) {
                                    _ = await app.call { apps, _ in _ = try await apps.background(id) }
                                }
                                if let id = random.pick(cast.all), random.chance(0.4) {
                                    _ = await app.call { apps, _ in _ = try await apps.activate(id) }
                                }
                                if let actor = random.pick(Array(app.actors.values)), random.chance(0.3) {
                                    actor.disconnect()
                                }
                                await app.advance(by: random.fraction() * 20)
                            }
                            try await app.crash()
                            app.world.commits.open()
                        }
                        await cast.finish()
                        try await app.stop()
                    }
                }
            }
        }
    }
}

/// Three apps, with the events that each must receive.
///
/// One app is suspended when its transfers end. One has exited, and must also answer a challenge. One does not link the
/// library.
struct AppCast {
    let app: AppWorld
    let suspended: AppID
    let dead: AppID
    let plain: AppID
    private let urls: [AppID: [String]]

    var all: [AppID] { [suspended, dead, plain] }

    init(_ app: AppWorld) throws {
        self.app = app
        app.world.transport.setBandwidth(400_000)
        suspended = try app.install("Suspended", ScriptedProgram(sessions: ["s"]))
        var program = ScriptedProgram(sessions: ["s"])
        program.answer = { message in
            var answer = MessageAnswer(message: message.id, disposition: .useCredential)
            answer.credential = Credential(user: "anna", password: "right")
            return answer
        }
        dead = try app.install("Dead", program)
        plain = try app.install("Plain", ScriptedProgram(links: false, status: 0))
        let guarded = ScriptedProtection.basic(host: "guarded.example", user: "anna", password: "right")
        urls = [
            suspended: [app.serve("small", size: 100_000), app.serve("large", size: 900_000)],
            dead: [app.serve("open", size: 50_000), app.serve("guarded", size: 300_000, protection: guarded)],
            plain: [app.serve("plain", size: 200_000)],
        ]
    }

    func play() async {
        let (app, suspended) = (app, suspended)
        await enqueue()
        guard !app.isDying else { return }
        if await app.status(suspended)?.state == .notRunning {
            _ = await app.call { apps, _ in _ = try await apps.launch(suspended, LaunchRequest()) }
        }
        await app.advance(by: 0.5)
        _ = await app.call { apps, _ in _ = try await apps.background(suspended) }
        await app.advance(by: 15)
        guard !app.isDying else { return }
        _ = await app.call { apps, _ in _ = try await apps.activate(suspended) }
        await app.advance(by: 1)
    }

    private func enqueue() async {
        for id in all where !app.isDying { await app.enqueue(id, "s", urls[id] ?? []) }
    }

    /// Makes every app work normally from here on, so that all events are delivered and all processes become idle.
    func finish() async {
        let app = app
        await enqueue()
        let ended = await app.advance(atMost: 86_400) {
            for id in all {
                guard await app.ended(id, "s").count == urls[id]?.count, await app.kept(id, "s").isEmpty else {
                    return false
                }
            }
            return true
        }
        if !ended {
            for id in all {
                let left = await app.kept(id, "s").map { "\($0.id) \($0.kind)" }
                let status = await app.status(id)
                app.world.fail("\(id) was not told everything: \(left); \(String(describing: status))")
            }
        }
        for id in [suspended, dead] where Set(app.record.tasks(id, "s")) != [1, 2] {
            app.world.fail("\(id) has heard of \(app.record.tasks(id, "s")).")
        }
        await app.advance(by: 100)
        await checkRest()
    }

    private func checkRest() async {
        let app = app
        if let wanted = try? await app.world.store.read({ try $0.wantedWakes() }), !wanted.isEmpty {
            app.world.fail("Wakes are left: \(wanted)")
        }
        for id in all {
            guard let status = await app.status(id) else { continue }
            if !status.wakes.isEmpty { app.world.fail("\(id) is at rest with the wakes \(status.wakes).") }
            if status.state == .background, status.isManaged { app.world.fail("\(id) is not suspended again.") }
            let isFrozen = status.processID.map(app.host.isSuspended) ?? false
            if isFrozen != (status.state == .suspended) {
                app.world.fail("\(id) is said to be \(status.state), and frozen is \(isFrozen).")
            }
        }
    }
}
