import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Doze: who stands still, for how long, and what lets it go on (mission row L4; decision 0013.4).
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

    @Test func `L4: time stands still in doze and goes on in the window, to the second`() {
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
        let stint = app.status.stints.last
        #expect(stint?.seconds == 180 && stint?.windows == 2 && stint?.end == .terminated)
    }

    @Test func `L4: who holds the device awake does not stand still`() {
        var app = dozing(.contiguous)
        #expect(app.taken == [])
        app.pass(10)
        #expect(app.remaining == 560)
        // Unless its policy becomes another one.
        app.machine.terms.policy = .opportunistic
        app.feed { $0.termsChanged(now: $1) }
        #expect(app.taken == [.freeze])
        app.machine.terms.policy = .contiguous
        app.feed { $0.termsChanged(now: $1) }
        #expect(app.taken == [.thaw])
    }

    @Test func `L4: its user, a wake or the end of doze lets it go on`() {
        var front = dozing()
        front.feed { $0.bringToFront(now: $1) }
        #expect(front.taken.prefix(2) == [.cameToFront, .thaw])
        #expect(front.state == .active && front.machine.clock == .unlimited)

        var woken = dozing()
        woken.setWantedWakes([.events("a", 1)])
        #expect(woken.taken.first == .thaw)
        #expect(woken.remaining == 180)
        woken.acknowledgeAll()
        // It has completed it, and the task is still open.
        #expect(woken.status.standsStill)

        var awake = dozing()
        awake.feed { $0.apply(.awake, now: $1) }
        #expect(awake.taken == [.thaw] && awake.remaining == 150)

        var quit = dozing()
        quit.feed { $0.quit(force: false, now: $1) }
        #expect(quit.taken.first == .thaw)
        #expect(quit.commands.map(\.action) == [.terminate])
    }

    @Test func `L4: who is doing what has a limit of its own finishes that first`() {
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

    @Test func `L4: who was told that its time is nearly over has the rest of it`() {
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

    @Test func `L4: an end of a task that was on its way leaves it suspended where it stands`() {
        var app = dozing()
        app.feed { $0.endTask(1, now: $1) }
        #expect(app.taken == [])
        #expect(app.state == .suspended && !app.status.standsStill)
        app.feed { $0.apply(.window, now: $1) }
        #expect(app.taken == [])
    }

    @Test func `L4: a dead app is launched in doze all the same`() {
        var app = TestApp()
        app.feed { $0.apply(.dozing, now: $1) }
        app.setWantedWakes([.events("a", 1)])
        #expect(app.taken.contains { $0.isSpawn })
    }

    @Test func `L4: the time of who cannot be stopped in doze passes, and that is tried again`() {
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

    @Test func `L5: a lock is told once in a stint, and the app stays`() {
        var app = dozing()
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.taken == [] && app.notes(.appHoldsLock).count == 1)
        app.feed { $0.apply(.window, now: $1) }
        app.feed { $0.apply(.dozing, now: $1) }
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.notes(.appHoldsLock).count == 1)
        #expect(app.notes(.appHoldsLock).first == "/tmp/shared")
        // The next stint is another story.
        app.feed { $0.bringToFront(now: $1) }
        app.acknowledgeAll()
        app.leave()
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.notes(.appHoldsLock).count == 2)
    }

    @Test func `L5: where the entry says so, a lock costs the app its life`() {
        var app = TestApp()
        app.machine.terms.fileLocks = .terminate
        app.suspended()
        app.feed { $0.found([Self.lock], now: $1) }
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .fileLock)
        #expect(app.machine.record.lastExit?.sentence.contains("0xdead10cc") == true)
    }

    // MARK: - Services

    @Test func `L4: a service that dies in doze leaves the time that stood still to the next one`() {
        var app = dozing()
        app.pass(500)
        app.restartService(isAlive: true, .dozing)
        // The guardian has thawed it: it runs, and its time passes.
        #expect(app.remaining == 150)
        app.pass(2)
        app.connected()
        #expect(app.begin(1) == nil)
        #expect(!app.status.standsStill, "what was not told again may have ended")
        app.pass(AppMachine.confirmationLimit)
        #expect(app.status.standsStill)
        #expect(app.remaining == 143)
    }

    @Test func `L3: time that counted has counted when a service dies`() {
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

    @Test func `L3: a service that dies during an expiration does not forget it`() {
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

    @Test func `L3: who could not be told in time, because no service was there, is told and has its lead`() {
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

    @Test func `L2: tasks that a process does not tell again after its connection broke have ended`() {
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

    @Test func `L2: tasks of one that never connects again end with the wait for it`() {
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
