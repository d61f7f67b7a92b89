import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of one app's machine: inputs and resulting actions.
@Suite struct AppMachineTests {
    // MARK: - Launches and transitions

    @Test func `L1: An app that the user launches becomes active, and is notified of each transition`() {
        var app = TestApp()
        app.feed { $0.launch(background: false, arguments: ["-v"], now: $1) }
        #expect(app.taken == [.cameToFront, .spawn(background: false, wakes: [], arguments: ["-v"])])
        #expect(app.state == .inactive)
        app.spawned()
        app.connected()
        #expect(app.commands.map(\.state) == [.active])
        #expect(app.state == .active)
        app.acknowledgeAll()

        app.feed { $0.sendToBackground(now: $1) }
        #expect(app.commands.map(\.state) == [.inactive, .background])
        #expect(app.state == .background)
        app.acknowledgeAll()
        #expect(app.commands.map(\.action) == [.snapshot])
        app.acknowledgeAll()
        #expect(app.taken.contains(.freeze))
        #expect(app.state == .suspended)

        app.feed { $0.bringToFront(now: $1) }
        #expect(app.taken.prefix(2) == [.cameToFront, .thaw])
        #expect(app.commands.map(\.state) == [.inactive, .active])
        #expect(app.state == .active)
    }

    @Test func `L1: An app that the user leaves before it connects is notified when it connects`() {
        var app = TestApp()
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        app.feed { $0.sendToBackground(now: $1) }
        #expect(app.state == .background && app.commands.isEmpty)
        app.connected()
        #expect(app.commands.map(\.state) == [.background] && app.commands.first?.limit == AppMachine.backgroundLimit)
        #expect(app.state == .background, "it is not suspended before it has heard")
        app.acknowledgeAll()
        app.acknowledgeAll()
        #expect(app.state == .suspended)
    }

    @Test(arguments: [true, false])
    func `L1: The service sends transitions during a broken connection over the next connection`(comes: Bool) {
        var app = TestApp()
        app.launchedByUser()
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.feed { $0.sendToBackground(now: $1) }
        #expect(app.state == .background && app.commands.isEmpty)
        guard comes else {
            app.pass(AppMachine.connectLimit)
            #expect(app.state == .suspended, "nobody was there to hear it")
            return
        }
        // The app's five seconds start when the app is notified, however late.
        app.pass(AppMachine.backgroundLimit * 2)
        app.connected()
        #expect(app.commands.map(\.state) == [.inactive, .background])
        app.acknowledgeAll()
        app.acknowledgeAll()
        #expect(app.state == .suspended && !app.all.contains(.kill))
    }

    @Test func `L1: A program without the library becomes active, and is suspended without commands`() {
        var app = TestApp()
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        #expect(app.state == .active)
        app.feed { $0.sendToBackground(now: $1) }
        // The process may still be about to connect.
        #expect(app.state == .background)
        app.pass(AppMachine.connectLimit)
        #expect(app.taken.contains(.freeze))
        #expect(app.state == .suspended)
        app.feed { $0.bringToFront(now: $1) }
        app.feed { $0.sendToBackground(now: $1) }
        #expect(app.state == .suspended)
    }

    @Test func `L1: A process that the service did not launch is never suspended`() {
        var app = TestApp()
        app.connected(managed: false)
        #expect(app.state == .active)
        app.feed { $0.changed(to: .background, now: $1) }
        app.acknowledgeAll()
        app.pass(1_000)
        #expect(app.state == .background)
        #expect(!app.all.contains(.freeze))
        app.exited(.exited)
        #expect(app.state == .notRunning)
        #expect(app.machine.record.process == nil)
    }

    @Test func `L1: An app launched in the background does not become active`() {
        var app = TestApp()
        app.feed { $0.launch(background: true, arguments: [], now: $1) }
        app.spawned()
        app.connected()
        #expect(app.state == .suspended)
        #expect(!app.all.contains { if case .send(let command) = $0 { command.state == .active } else { false } })
    }

    @Test func `L3: The service ends an app that does not return from didEnterBackground`() {
        var app = TestApp()
        app.launchedByUser()
        app.feed { $0.sendToBackground(now: $1) }
        app.pass(AppMachine.backgroundLimit - 0.01)
        #expect(!app.taken.contains(.kill))
        app.pass(0.02)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .backgroundTimeout)
    }

    @Test func `L7: The service does not end an app for a missing snapshot`() {
        var app = TestApp()
        app.launchedByUser()
        app.feed { $0.sendToBackground(now: $1) }
        app.acknowledgeAll()
        #expect(app.commands.map(\.action) == [.snapshot])
        app.pass(AppMachine.snapshotLimit + 1)
        #expect(!app.all.contains(.kill))
        #expect(app.state == .suspended)
    }

    // MARK: - Wakes

    @Test func `T9 T11: A dead app is launched for its session, makes a snapshot and is suspended`() {
        var app = TestApp()
        app.setWantedWakes([.events("a", 4)])
        #expect(app.taken.contains(.spawn(background: true, wakes: [.events("a", 4)], arguments: [])))
        app.spawned()
        app.connected()
        #expect(app.commands.map(\.action) == [.handleEvents])
        #expect(app.commands.first?.session == "a")
        #expect(app.commands.first?.through == 4)
        #expect(app.commands.first?.limit == 30)
        #expect(app.state == .background)
        app.acknowledgeAll()
        #expect(app.taken.contains(.finished("a", 4, .acknowledged(.newData))))
        #expect(app.commands.map(\.action) == [.snapshot])
        app.acknowledgeAll()
        #expect(app.state == .suspended)
        // The store may return the wake again until its end is written.
        app.setWantedWakes([.events("a", 4)])
        #expect(app.taken == [])
    }

    @Test func `T9: Several wakes resume a suspended app together, or share one launch`() {
        var app = TestApp()
        app.suspended()
        app.setWantedWakes([.events("a", 4), .events("b", 5)])
        #expect(app.taken.first == .thaw)
        #expect(app.commands.map(\.session) == ["a", "b"])
        #expect(app.machine.wakes(now: app.now).map(\.session) == ["a", "b"])
        app.acknowledge { $0.session == "b" }
        #expect(app.state == .background)
        // Another wake arrives while the app is awake.
        app.setWantedWakes([.events("a", 4), .events("c", 6)])
        #expect(app.commands.map(\.session) == ["a", "c"])
        app.acknowledgeAll()
        app.acknowledgeAll()
        #expect(app.state == .suspended)
    }

    @Test(arguments: [AppState.active, .inactive])
    func `T9: An app in the foreground is not woken for messages of its sessions`(state: AppState) {
        var app = TestApp()
        app.launchedByUser()
        app.feed { $0.changed(to: state, now: $1) }
        app.acknowledgeAll()
        app.setWantedWakes([.events("a", 1)])
        #expect(app.taken == [])
        // Before it enters the background, the app is woken for the messages that it has not read.
        app.feed { $0.changed(to: .background, now: $1) }
        app.acknowledgeAll()
        #expect(app.commands.map(\.action) == [.handleEvents])
        #expect(app.state == .background)
    }

    @Test func `T11: The service ends an app that does not complete its wake, and records the cause`() {
        var app = TestApp(wakeLimit: 12)
        app.setWantedWakes([.events("a", 1)])
        app.spawned()
        app.connected()
        app.pass(11.9)
        #expect(!app.all.contains(.kill))
        app.pass(0.2)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .eventsOverdue)
        #expect(app.machine.record.lastExit?.sentence.contains("0x2182bad3") == true)
        #expect(!app.all.contains { if case .finishWake = $0 { true } else { false } })
    }

    @Test func `T9: The service waits longer before each launch of an app that fails on every wake`() {
        var app = TestApp()
        app.setWantedWakes([.events("a", 1)])
        var launches: [Double] = []
        for _ in 0..<20 {
            if !app.taken.contains(where: { $0.isSpawn }) {
                let due = app.machine.nextDeadline
                app.pass(max(0, (due ?? 0) - app.now.awakeSeconds))
            }
            #expect(app.taken.contains { $0.isSpawn })
            launches.append(app.now.awakeSeconds)
            app.spawned()
            app.exited(.signalled)
        }
        let pauses = zip(launches.dropFirst(), launches).map { ($0 - $1).rounded() }
        #expect(pauses.prefix(6) == [1, 2, 4, 8, 16, 32])
        #expect(pauses.last == 3_600)
        #expect(app.machine.record.faults == 20)
        let notes = app.all.compactMap { action -> String? in
            if case .note(.appLaunchPaused, let detail, _) = action { detail } else { nil }
        }
        #expect(notes.first == "The last launch of the app failed.")
        #expect(notes.dropFirst().first == "2 launches of the app failed in a row.")
        // A launch by the user clears the recorded crashes.
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        #expect(app.machine.record.faults == 0)
    }

    @Test func `B1: A program without the library completes its wakes with its exit status`() {
        var app = TestApp()
        app.setWantedWakes([.events("a", 3)])
        app.spawned()
        app.exited(.exited, status: 0)
        #expect(app.all.contains(.finished("a", 3, .exited(0))))
        #expect(app.machine.record.faults == 0)
        app.setWantedWakes([.events("a", 9)])
        app.spawned()
        app.exited(.failed, status: 1)
        #expect(!app.all.contains(.finished("a", 9, .exited(0))))
        #expect(app.machine.record.faults == 1)
    }

    @Test func `T10: An app that links the library but exits before it connects completes no wake`() {
        var app = TestApp()
        app.suspended()
        app.exited(.signalled)
        app.setWantedWakes([.events("a", 3)])
        app.pass(2)
        app.spawned()
        app.exited(.exited, status: 0)
        #expect(!app.all.contains { if case .finishWake = $0 { true } else { false } })
        // Wakes with a program of their own are the exception.
        app.machine.hasWakeCommand = true
        app.pass(4)
        app.spawned()
        app.exited(.exited, status: 0)
        #expect(app.all.contains(.finished("a", 3, .exited(0))))
    }

    @Test func `T9: An app with the library that exits without acknowledging has not completed its wake`() {
        var app = TestApp()
        app.setWantedWakes([.events("a", 3)])
        app.spawned()
        app.connected()
        app.exited(.exited, status: 0)
        #expect(!app.all.contains { if case .finishWake = $0 { true } else { false } })
        #expect(app.machine.record.faults == 1)
    }

    @Test func `T9: A program without an entry is not launched`() {
        var app = TestApp(isInstalled: false)
        app.setWantedWakes([.events("a", 1)])
        #expect(app.taken == [])
    }

    // MARK: - Ends

    @Test func `L1: A force-quit app loses its transfers, and only the user can launch it again`() {
        var app = TestApp()
        app.suspended()
        app.feed { $0.quit(force: true, now: $1) }
        #expect(app.taken == [.kill])
        // A process that is ending does not handle the results of its transfers.
        app.exited(.signalled)
        #expect(app.taken.contains(.cancelTransfers))
        #expect(app.machine.record.lastExit?.cause == .forceQuit)
        app.setWantedWakes([.challenge("a", 2)])
        #expect(app.taken == [])
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        #expect(app.machine.record.isForceQuit == false)
    }

    @Test func `L1: The service asks an app to quit before it kills the app`() {
        var app = TestApp()
        app.launchedByUser()
        app.feed { $0.quit(force: false, now: $1) }
        #expect(app.commands.map(\.action) == [.terminate])
        app.pass(AppMachine.quitLimit)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .quit)
        #expect(app.machine.record.isForceQuit == false)
    }

    @Test func `L1: The service counts a SIGKILL by another process as a crash and launches the app again`() {
        var app = TestApp()
        app.suspended()
        app.exited(.signalled)
        #expect(app.machine.record.isForceQuit == false)
        app.setWantedWakes([.events("a", 1)])
        app.pass(2)
        #expect(app.all.contains { $0.isSpawn })
    }

    // MARK: - Restarts of the service

    @Test func `L1: The next service adopts a running app, and suspends it again`() {
        var app = TestApp()
        app.suspended()
        app.restartService(isAlive: true)
        #expect(app.state == .background)
        app.connected()
        #expect(app.state == .suspended)

        app.restartService(isAlive: true)
        app.pass(AppMachine.connectLimit)
        #expect(app.state == .suspended)

        app.restartService(isAlive: false)
        #expect(app.state == .notRunning)
        #expect(app.machine.record.lastExit?.cause == .unseen)
    }

    @Test func `T9: The next service continues a wake that was running when the service died`() {
        var app = TestApp()
        app.setWantedWakes([.events("a", 1)])
        app.spawned()
        app.connected()
        let asked = app.commands
        app.pass(20)
        app.restartService(isAlive: true)
        app.setWantedWakes([.events("a", 1)])
        app.connected()
        // The service sends the same command again. An app that has handled it acknowledges it again without handling
        // it twice.
        #expect(app.commands == asked)
        // The command's time starts again, because the app could not acknowledge anything without a service.
        app.pass(29)
        #expect(!app.all.contains(.kill))
        app.acknowledgeAll()
        #expect(app.all.contains(.finished("a", 1, .acknowledged(.newData))))
        #expect(app.commands.map(\.action) == [.snapshot] && app.commands[0].number > asked[0].number)
    }

    // MARK: - The resume rate limiter

    @Test func `T9: Each wake doubles the delay for new tasks until the user launches the app`() {
        var app = TestApp()
        app.suspended()
        var delays: [Double] = []
        for through in 1...4 {
            app.setWantedWakes([.events("a", Int64(through))])
            delays.append((app.machine.startsPausedUntil(now: app.now) ?? 0) - app.now.wallSeconds)
            app.acknowledgeAll()
            app.acknowledgeAll()
            #expect(app.state == .suspended)
        }
        #expect(delays.map { $0.rounded() } == [60, 120, 240, 480])
        // The delay has passed without a wake, so the next delay has the first value again.
        app.pass(481)
        #expect(app.machine.startsPausedUntil(now: app.now) == nil)
        app.setWantedWakes([.events("a", 9)])
        #expect((app.machine.startsPausedUntil(now: app.now) ?? 0) - app.now.wallSeconds == 60)
        app.feed { $0.bringToFront(now: $1) }
        #expect(app.taken.contains(.cameToFront))
        #expect(app.machine.startsPausedUntil(now: app.now) == nil)
    }
}

extension WantedWake {
    static func events(_ session: String, _ through: Int64) -> WantedWake {
        WantedWake(app: TestApp.id, reason: .sessionEvents, key: session, through: through)
    }

    static func challenge(_ session: String, _ through: Int64) -> WantedWake {
        WantedWake(app: TestApp.id, reason: .challenge, key: session, through: through)
    }
}

extension AppAction {
    var isSpawn: Bool { if case .spawn = self { true } else { false } }

    static func finished(_ session: String, _ through: Int64, _ outcome: WakeOutcome) -> AppAction {
        .finishWake(.events(session, through), outcome)
    }
}
