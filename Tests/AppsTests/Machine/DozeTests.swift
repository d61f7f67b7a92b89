import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of doze: which apps it pauses, for how long, and which inputs end the pause (mission row L4; decision 0013.4).
@Suite struct DozeTests {
    private func dozing(_ policy: BackgroundPolicy = .opportunistic) -> TestApp {
        var app = TestApp()
        app.machine.terms.policy = policy
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(30)
        app.feed { $0.apply(.dozing, now: $1) }
        return app
    }

    @Test func `L4: Background time pauses in doze and continues in a maintenance window, to the second`() {
        var app = dozing()
        #expect(app.taken == [.freeze])
        #expect(app.state == .background && app.status.standsStill)
        #expect(app.machine.clock == .standing(150_000_000_000))
        #expect(app.machine.nextDeadline == nil)
        app.pass(10_000)
        #expect(app.remaining == 150)
        app.feed { $0.apply(.window, now: $1) }
        #expect(app.taken == [.thaw])
        #expect(app.machine.clock == .counting(until: Int64(saturating: (app.now.awakeSeconds + 150) * 1e9)))
        app.pass(40)
        app.feed { $0.apply(.dozing, now: $1) }
        #expect(app.taken == [.freeze] && app.remaining == 110)
        app.pass(5_000)
        app.feed { $0.apply(.window, now: $1) }
        app.pass(105)
        #expect(app.commands.map(\.action) == [.expire])
        app.pass(5)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        let backgroundRun = app.status.stints.last
        #expect(backgroundRun?.seconds == 180 && backgroundRun?.windows == 2 && backgroundRun?.end == .terminated)
    }

    @Test func `L4: Doze does not pause an app that holds the device awake`() {
        var app = dozing(.contiguous)
        #expect(app.taken == [])
        app.pass(10)
        #expect(app.remaining == 560)
        // A change of the app's policy pauses the app.
        app.machine.terms.policy = .opportunistic
        app.feed { $0.termsChanged(now: $1) }
        #expect(app.taken == [.freeze])
        app.machine.terms.policy = .contiguous
        app.feed { $0.termsChanged(now: $1) }
        #expect(app.taken == [.thaw])
    }

    @Test func `L4: The user, a wake or the end of doze resumes a paused app`() {
        var front = dozing()
        front.feed { $0.bringToFront(now: $1) }
        #expect(front.taken.prefix(2) == [.cameToFront, .thaw])
        #expect(front.state == .active && front.machine.clock == .unlimited)

        var woken = dozing()
        woken.setWantedWakes([.events("a", 1)])
        #expect(woken.taken.first == .thaw)
        #expect(woken.remaining == 180)
        woken.acknowledgeAll()
        // The wake is completed, but the task is still open.
        #expect(woken.status.standsStill)

        var awake = dozing()
        awake.feed { $0.apply(.awake, now: $1) }
        #expect(awake.taken == [.thaw] && awake.remaining == 150)

        var quit = dozing()
        quit.feed { $0.quit(force: false, now: $1) }
        #expect(quit.taken.first == .thaw)
        #expect(quit.commands.map(\.action) == [.terminate])
    }

    @Test func `L4: Doze pauses an app only after the app has ended the work that has its own limit`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.feed { $0.apply(.dozing, now: $1) }
        #expect(app.taken == [])
        app.feed { $0.sendToBackground(now: $1) }
        #expect(!app.taken.contains(.freeze))
        app.acknowledgeAll()
        #expect(app.status.standsStill)
    }

    @Test func `L4: An app that got its warning has the rest of its time in doze`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(175)
        app.acknowledgeAll()
        app.feed { $0.apply(.dozing, now: $1) }
        #expect(!app.taken.contains(.freeze))
        app.pass(5)
        #expect(app.taken == [.kill])
    }

    @Test func `L4: A paused app whose last task ends becomes suspended without being thawed`() {
        var app = dozing()
        app.feed { $0.endTask(1, now: $1) }
        #expect(app.taken == [])
        #expect(app.state == .suspended && !app.status.standsStill)
        app.feed { $0.apply(.window, now: $1) }
        #expect(app.taken == [])
    }

    @Test func `L4: A wake launches a dead app during doze`() {
        var app = TestApp()
        app.feed { $0.apply(.dozing, now: $1) }
        app.setWantedWakes([.events("a", 1)])
        #expect(app.taken.contains { $0.isSpawn })
    }

    @Test func `L4: If an app cannot be frozen in doze, the service counts its time and tries again`() {
        var app = dozing()
        app.feed { $0.suspensionFailed(now: $1) }
        #expect(app.taken == [.thaw] && !app.status.standsStill)
        app.pass(4)
        #expect(app.taken == [] && app.remaining == 146)
        app.pass(6)
        #expect(app.taken == [.freeze] && app.remaining == 140 && app.status.standsStill)
    }

    // MARK: - Locks

    private static let lock = HeldLock(path: "/tmp/shared", process: 1_001, kind: "flock")

    @Test func `L5: The journal records a lock of a suspended app once per background run`() {
        var app = dozing()
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.taken == [] && app.notes(.appHoldsLock).count == 1)
        app.feed { $0.apply(.window, now: $1) }
        app.feed { $0.apply(.dozing, now: $1) }
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.notes(.appHoldsLock).count == 1)
        #expect(app.notes(.appHoldsLock).first == "/tmp/shared")
        // The next background run records the lock again.
        app.feed { $0.bringToFront(now: $1) }
        app.acknowledgeAll()
        app.leave()
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.notes(.appHoldsLock).count == 2)
    }

    @Test func `L5: The service ends an app that holds a lock if the app's entry says so`() {
        var app = TestApp()
        app.machine.terms.fileLocks = .terminate
        app.suspended()
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .fileLock)
        #expect(app.machine.record.lastExit?.sentence.contains("0xdead10cc") == true)
    }

    // MARK: - Restarts of the service

    @Test func `L4: A service that dies in doze leaves the paused time to the next service`() {
        var app = dozing()
        app.pass(500)
        app.restartService(isAlive: true, .dozing)
        // The guardian has thawed the process, so its time counts.
        #expect(app.remaining == 150)
        app.pass(2)
        app.connected()
        #expect(app.begin(1) == nil)
        #expect(!app.status.standsStill, "what was not told again may have ended")
        app.pass(AppMachine.confirmationLimit)
        #expect(app.status.standsStill)
        #expect(app.remaining == 143)
    }

    @Test func `L3: Elapsed background time still counts after the service has died`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(100)
        let record = app.machine.record
        app.now.awakeSeconds += 30
        app.restartService(isAlive: true)
        #expect(app.machine.record.background.tasks == record.background.tasks)
        #expect(app.remaining == 50)
    }

    @Test func `L3: An expiration continues in the next service, with the remaining time`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(175)
        app.restartService(isAlive: true)
        app.pass(1)
        app.connected()
        #expect(app.begin(1) == nil)
        app.pass(3.9)
        #expect(app.taken == [])
        app.pass(0.2)
        #expect(app.taken == [.kill])
    }

    @Test func `L3: An app warned late because the service was down gets the full warning time`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(100)
        app.now.awakeSeconds += 500
        app.restartService(isAlive: true)
        app.pass(0)
        app.connected()
        #expect(app.commands.map(\.action) == [.expire])
        #expect(app.begin(1) == nil)
        app.pass(4.9)
        #expect(!app.taken.contains(.kill))
        app.pass(0.2)
        #expect(app.taken == [.kill])
    }

    @Test func `L2: The service drops tasks that the app does not report again on its next connection`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        _ = app.begin(2)
        app.leave()
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.connected()
        #expect(app.begin(2) == nil)
        app.pass(AppMachine.confirmationLimit - 0.1)
        #expect(app.status.tasks.count == 2)
        app.pass(0.2)
        #expect(app.status.tasks.map(\.name) == ["task 2"])
    }

    @Test func `L2: The service drops tasks of a process that never connects again after the time limit`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.restartService(isAlive: true)
        app.pass(AppMachine.connectLimit)
        #expect(app.status.tasks.isEmpty)
        #expect(app.state == .suspended)
    }
}
