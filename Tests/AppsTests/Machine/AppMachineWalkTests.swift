import Apps
import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests with random inputs of apps, users, processes and services, checked against the general rules of a machine.
@Suite struct AppMachineWalkTests {
    @Test(arguments: 1...60) func `L1 R1: The machine loses no state, process or wake in random walks`(seed: UInt64) {
        var walk = AppWalk(seed: seed)
        for _ in 0..<600 {
            walk.step()
            if walk.hasFailed { return }
        }
        walk.comeToRest()
    }

    @Test(arguments: 1...60)
    func `L3 L4: In random walks apps get a warning before they are ended, and read the right time`(
        seed: UInt64
    ) {
        var walk = AppWalk(seed: seed, isSteady: true)
        for _ in 0..<600 {
            walk.step()
            if walk.hasFailed { return }
        }
        walk.comeToRest()
    }

    @Test func `T11: The service kills a process only once, even if it takes time to end`() {
        var app = TestApp(wakeLimit: 10)
        app.setWantedWakes([.events("a", 1)])
        app.spawned()
        app.connected()
        app.pass(10)
        #expect(app.taken == [.kill])
        #expect(app.machine.nextDeadline == nil)
        app.pass(1)
        #expect(app.taken == [])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .eventsOverdue)
    }

    @Test func `T9: A wake resumes an app that was suspended with a broken connection`() {
        var app = TestApp()
        app.suspended()
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.setWantedWakes([.events("a", 1)])
        #expect(app.taken == [.thaw])
        #expect(app.commands == [])
        app.connected()
        #expect(app.commands.map(\.action) == [.handleEvents])
        app.acknowledgeAll()
        #expect(app.all.contains(.finished("a", 1, .acknowledged(.newData))))
    }

    @Test func `T11: The service ends and relaunches a woken app that never connects again`() {
        var app = TestApp(wakeLimit: 10)
        app.suspended()
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.setWantedWakes([.events("a", 1)])
        app.pass(10)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        app.pass(AppMachine.firstFaultPause)
        #expect(app.taken.contains { $0.isSpawn })
    }

    @Test func `B1: A program whose service dies during a wake keeps its time, and is woken again`() {
        var app = TestApp(wakeLimit: 60)
        app.setWantedWakes([.events("a", 1)])
        app.spawned()
        app.restartService(isAlive: true)
        app.setWantedWakes([.events("a", 1)])
        app.pass(AppMachine.connectLimit)
        // The process is not frozen during its work, for which it keeps the limit that it got at its launch.
        #expect(!app.all.contains(.freeze))
        app.pass(39)
        #expect(!app.all.contains(.kill))
        app.exited(.unseen)
        app.pass(AppMachine.firstFaultPause)
        #expect(app.taken.contains { $0.isSpawn })
    }

    @Test func `L3: Commands sent in the foreground do not keep an app awake in the background`() {
        var app = TestApp()
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        app.connected()
        app.feed { $0.sendToBackground(now: $1) }
        app.acknowledge { $0.state != .active }
        #expect(app.state == .background)
        app.pass(AppMachine.backgroundLimit)
        #expect(app.taken == [.kill])
    }

    @Test func `L1: The next service continues a force quit`() {
        var app = TestApp()
        app.suspended()
        app.feed { $0.quit(force: true, now: $1) }
        app.restartService(isAlive: false)
        #expect(app.taken.contains(.cancelTransfers))
    }
}
