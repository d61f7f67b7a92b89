import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of background tasks and their time, to the second (mission rows L2, L3; decision 0013).
@Suite struct BackgroundTimeTests {
    @Test func `L2: The service suspends an app only after the app's last open task has ended`() {
        var app = TestApp()
        app.launchedByUser()
        #expect(app.begin(1) == nil)
        #expect(app.remaining == nil && app.machine.clock == .unlimited)
        app.leave()
        #expect(app.state == .background)
        #expect(app.remaining == 180)
        app.pass(100)
        #expect(app.remaining == 80)
        #expect(app.begin(2) == nil)
        app.feed { $0.endTask(1, now: $1) }
        #expect(app.taken == [])
        app.feed { $0.endTask(2, now: $1) }
        #expect(app.commands.map(\.action) == [.snapshot])
        app.acknowledgeAll()
        #expect(app.taken.contains(.freeze))
        #expect(app.state == .suspended)
        let backgroundRun = app.status.stints.last
        #expect(
            backgroundRun?.seconds == 100 && backgroundRun?.end == .suspended
                && backgroundRun?.tasks == ["task 1", "task 2"])
    }

    @Test(arguments: [
        (BackgroundPolicy.contiguous, 5.0, 600.0), (.opportunistic, 5, 180), (.brief, 5, 30), (.opportunistic, 2, 180),
        (BackgroundPolicy(.opportunistic, seconds: 10), 30, 10),
    ])
    func `L3: An app gets a warning before its background time ends, and is ended afterwards`(
        policy: BackgroundPolicy, lead: Double, seconds: Double
    ) {
        let lead = min(lead, seconds / 2)
        var app = TestApp()
        app.machine.terms = BackgroundTerms(policy: policy, lead: lead)
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        #expect(app.machine.nextDeadline == app.now.awakeSeconds + seconds - lead)
        app.pass(seconds - lead - 0.001)
        #expect(app.taken == [])
        app.pass(0.001)
        #expect(app.commands.map(\.action) == [.expire])
        #expect(abs((app.commands.first?.limit ?? 0) - lead) < 0.01)
        app.pass(lead - 0.001)
        #expect(app.taken == [])
        app.pass(0.002)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .taskOverdue)
        #expect(app.machine.record.lastExit?.sentence.contains("0x2182bad2") == true)
        #expect(app.status.stints.last?.end == .terminated)
        #expect(app.machine.record.background.tasks.isEmpty)
        #expect(app.machine.record.faults == 1)
    }

    @Test func `L3: An app that ends its tasks after the warning is suspended`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(175)
        app.feed { $0.endTask(1, now: $1) }
        // The app's handlers have not returned yet.
        #expect(app.taken == [] && app.state == .background)
        app.acknowledgeAll()
        app.acknowledgeAll()
        #expect(app.state == .suspended)
        #expect(!app.all.contains(.kill))
    }

    @Test func `L3: An app that ends its tasks without acknowledging the warning is suspended at the end`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(175)
        app.feed { $0.endTask(1, now: $1) }
        app.pass(5)
        #expect(!app.all.contains(.kill))
        #expect(app.taken.contains { if case .send(let command) = $0 { command.action == .snapshot } else { false } })
    }

    @Test func `L3: A late tick does not shorten the time between warning and end`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(1_000)
        #expect(app.commands.map(\.action) == [.expire])
        #expect(app.remaining == 5)
        app.pass(4.9)
        #expect(app.taken == [])
        app.pass(0.2)
        #expect(app.taken == [.kill])
    }

    @Test func `L2: Sleep of the machine does not count as background time`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.sleepMachine(10_000)
        #expect(app.remaining == 180)
        app.pass(174)
        #expect(app.taken == [])
        app.pass(1)
        #expect(app.commands.map(\.action) == [.expire])
    }

    @Test func `L2: Entering the foreground removes the limit, and renews the time for the background`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(176)
        #expect(app.commands.map(\.action) == [.expire])
        app.feed { $0.bringToFront(now: $1) }
        #expect(app.remaining == nil && app.machine.clock == .unlimited)
        app.pass(1_000)
        #expect(!app.all.contains(.kill))
        app.acknowledgeAll()
        app.leave()
        #expect(app.remaining == 180)
        #expect(app.status.stints.map(\.end) == [.foreground, nil])
    }

    @Test func `L2: A wake during a background run gives the app its full time again`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(100)
        app.setWantedWakes([.events("a", 1)])
        #expect(app.remaining == 180)
        #expect(app.status.stints.last?.wakes == [.sessionEvents])
    }

    @Test func `L2: A refusal of a background task names the reason`() {
        var app = TestApp()
        #expect(app.begin(1) == .notRunning)
        app.launchedByUser()
        app.leave()
        #expect(app.state == .background)
        app.pass(2)
        for number in 1...Limits.backgroundTasks { #expect(app.begin(Int64(number)) == nil) }
        #expect(app.begin(5_000) == .tooMany)
        // A repeated number names the same task.
        #expect(app.begin(7) == nil)
        app.feed { $0.endTask(1, now: $1) }
        app.pass(173)
        #expect(app.begin(5_000) == .noTime(left: 5))
        app.feed { $0.quit(force: false, now: $1) }
        #expect(app.begin(5_000) == .ending)
    }

    @Test func `L2: A task requested before suspension thaws the app, which gets the remaining time`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(60)
        app.feed { $0.endTask(1, now: $1) }
        app.acknowledgeAll()
        #expect(app.state == .suspended)
        #expect(app.begin(2) == nil)
        #expect(app.taken == [.thaw])
        #expect(app.state == .background)
        #expect(app.remaining == 120)
    }

    @Test func `L2: A process that the service did not launch has no limit and is not ended`() {
        var app = TestApp()
        app.connected(managed: false)
        _ = app.begin(1)
        app.feed { $0.changed(to: .background, now: $1) }
        app.acknowledgeAll()
        app.pass(10_000)
        #expect(app.remaining == nil && app.machine.clock == .unlimited)
        #expect(!app.all.contains(.kill) && !app.all.contains(.freeze))
        #expect(app.status.tasks.map(\.name) == ["task 1"])
        app.exited(.exited)
        #expect(app.status.stints.map(\.seconds) == [10_000])
        #expect(app.status.stints.last?.end == .ended)
    }

    @Test func `L2: The service reports that an app holds the device awake while the app has tasks`() {
        var app = TestApp()
        app.machine.terms.policy = .contiguous
        app.launchedByUser()
        _ = app.begin(1)
        #expect(app.machine.holder == nil)
        app.leave()
        #expect(app.machine.holder?.tasks == ["task 1"])
        let since = app.machine.holder?.since
        app.pass(10)
        _ = app.begin(2)
        app.feed { $0.endTask(1, now: $1) }
        #expect(app.machine.holder?.tasks == ["task 2"] && app.machine.holder?.since == since)
        app.machine.terms.policy = .opportunistic
        app.feed { $0.termsChanged(now: $1) }
        #expect(app.machine.holder == nil)
        #expect(app.status.stints.last?.heldAwake == true)
    }

    @Test func `L2: Tasks of a secondary process are its own, get the warning, and end with the process`() {
        var app = TestApp()
        app.launchedByUser()
        #expect(app.begin(1, of: 50) == nil && app.begin(1, of: 51) == nil && app.begin(1) == nil)
        #expect(app.status.tasks.count == 3)
        app.leave()
        app.feed { $0.endTask(1, now: $1) }
        app.pass(175)
        let told = app.taken.compactMap { action -> Int32? in
            if case .tellGuest(let process, _) = action { process } else { nil }
        }
        #expect(told == [50, 51])
        // The app's main process has no task that could expire.
        #expect(app.commands == [])
        app.feed { $0.guestLeft(50, now: $1) }
        #expect(app.status.tasks.count == 1)
        app.feed { $0.guestLeft(51, now: $1) }
        app.acknowledgeAll()
        #expect(app.state == .suspended)
    }

    @Test func `L2: A command gets the time of its policy, then SIGTERM, then SIGKILL`() {
        var app = TestApp(isInstalled: false)
        let process = StoredProcess(processID: 77, startTime: 7, bootID: "boot", isManaged: true)
        app.feed { $0.adoptedCommand(process, now: $1) }
        #expect(app.state == .background)
        app.pass(AppMachine.confirmationLimit - 0.1)
        #expect(app.taken == [])
        #expect(app.begin(1) == nil)
        app.pass(165)
        #expect(!app.all.contains(.terminate))
        app.pass(5.2)
        #expect(app.taken.first == .terminate)
        app.pass(5)
        #expect(app.taken == [.kill])

        // The service does not keep a command running that has no task.
        var idle = TestApp(isInstalled: false)
        idle.feed { $0.adoptedCommand(process, now: $1) }
        idle.pass(AppMachine.confirmationLimit)
        #expect(idle.taken == [.freeze])
    }

    @Test func `L2: The service keeps records of only the last background runs`() {
        var app = TestApp()
        app.launchedByUser()
        for _ in 0..<Limits.backgroundRuns + 5 {
            app.leave()
            app.acknowledgeAll()
            app.feed { $0.bringToFront(now: $1) }
            app.acknowledgeAll()
        }
        #expect(app.status.stints.count == Limits.backgroundRuns)
    }

    @Test func `L2: Journal entries contain the inputs of their decisions`() {
        var app = TestApp()
        app.launchedByUser()
        _ = app.begin(1)
        app.leave()
        app.pass(20)
        app.feed { $0.bringToFront(now: $1) }
        let notes = app.all.compactMap { action -> (Decision, [String: String])? in
            if case .note(let decision, _, let inputs) = action { (decision, inputs) } else { nil }
        }
        #expect(
            notes.first { $0.0 == .stintBegan }?.1 == [
                "policy": "opportunistic", "source": "device", "seconds": "180",
            ])
        #expect(
            notes.first { $0.0 == .stintEnded }?.1 == [
                "policy": "opportunistic", "seconds": "20", "windows": "0", "tasks": "task 1", "end": "foreground",
            ])
    }

    // MARK: - The launch

    @Test func `L3: An app that links the library has 20 s to connect and enter its first state`() {
        var app = TestApp()
        app.launchedByUser()
        app.exited(.exited)
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        app.pass(10)
        app.connected()
        app.pass(9.9)
        #expect(app.taken == [])
        app.pass(0.2)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .launchTimeout)

        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        app.connected()
        app.acknowledgeAll()
        app.pass(100)
        #expect(app.taken == [])
    }

    @Test func `L3: A reinstalled entry may name another program`() {
        var app = TestApp()
        app.launchedByUser()
        app.exited(.exited)
        app.feed { $0.installed("/entry", now: $1) }
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        app.pass(100)
        #expect(!app.all.contains(.kill))
    }

    @Test func `L2: After a failed suspension an app gets only its remaining background time`() {
        var app = TestApp()
        app.suspended()
        app.feed { $0.suspensionFailed(now: $1) }
        // The app receives commands again.
        #expect(app.taken == [.thaw] && app.state == .background && app.remaining == 180)
        #expect(app.begin(1) == nil)
        app.pass(175)
        #expect(app.commands.map(\.action) == [.expire])
        app.pass(5)
        #expect(app.taken == [.kill])
    }
}
