import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of wakes of every source: limits, shared launches, and wakes that are not completed.
@Suite struct WakeSourceTests {
    private static let others = WakeSource.allCases.filter { $0 != .session }

    @Test(arguments: [
        (WakeSource.session, 45.0, ExitCause.eventsOverdue), (.fetch, 30, .fetchOverdue), (.push, 30, .pushOverdue),
        (.region, 10, .locationOverdue), (.significantChange, 10, .locationOverdue),
        (.processing, 300, .processingOverdue), (.response, 30, .pushOverdue),
    ])
    func `Each wake source has its own limit, and its own recorded cause for an app that exceeds it`(
        source: WakeSource, seconds: Double, cause: ExitCause
    ) {
        var app = TestApp(wakeLimit: 45)
        app.setWantedWakes([.row(source, 1, key: "k")])
        app.spawned()
        app.connected()
        #expect(app.commands.map(\.limit) == [seconds])
        app.pass(seconds - 5)
        #expect(app.commands.count == (source.rules.isWarned ? 2 : 1))
        app.pass(4.9)
        #expect(!app.all.contains(.kill))
        app.pass(0.2)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == cause && cause.isFault)
    }

    @Test(arguments: others) func `A wake launches a dead app, which receives the payload and is suspended`(
        source: WakeSource
    ) {
        var app = TestApp()
        let wake = WantedWake.row(source, 4, key: "k")
        app.setWantedWakes([wake])
        #expect(app.taken.contains(.spawn(background: true, wakes: [wake], arguments: [])))
        app.spawned()
        app.connected()
        let command = app.commands.first
        #expect(app.commands.map(\.action) == [.handleWake] && command?.session == nil)
        #expect(command?.source == source && command?.key == "k" && command?.through == 4)
        #expect(command?.payload == Data("4".utf8))
        #expect(app.machine.wakes(now: app.now).map(\.key) == ["k"])
        app.acknowledgeAll()
        #expect(app.taken.contains(.finishWake(wake, .acknowledged(.newData))))
        app.acknowledgeAll()
        #expect(app.state == .suspended)
        // The store may return the wake again until its end is written.
        app.setWantedWakes([wake])
        #expect(app.taken == [])
        // A wake that replaces another one is new.
        app.setWantedWakes([.row(source, 5, key: "k")])
        #expect(app.taken.first == .thaw && app.commands.map(\.through) == [5])
    }

    @Test func `The command for a session's wake has no fields of other sources`() throws {
        var app = TestApp()
        app.setWantedWakes([.events("photos", 5), .row(.region, 6, key: "home")])
        app.spawned()
        app.connected()
        let text = try app.commands.map { String(decoding: try JSON.encode($0), as: UTF8.self) }
        #expect(
            text == [
                #"{"action":"handleEvents","limit":30,"number":1,"session":"photos","through":5}"#,
                #"{"action":"handleWake","key":"home","limit":10,"number":2,"payload":"Ng==","source":"region","through":6}"#,
            ])
        let statuses = try app.machine.wakes(now: app.now).map { wake in
            var wake = wake
            wake.deadline = nil
            return String(decoding: try JSON.encode(wake), as: UTF8.self)
        }
        #expect(
            statuses == [#"{"reason":"sessionEvents","session":"photos"}"#, #"{"key":"home","reason":"region"}"#])
        #expect(
            app.notes(.appWoken) == [
                "photos: The last transfer of a session ended. home: The boundary of a region was crossed."
            ])
    }

    @Test func `Wakes of several sources share one launch but have separate completions and limits`() {
        var app = TestApp()
        let wakes: [WantedWake] = [
            .events("a", 1), .row(.fetch, 1), .row(.region, 2, key: "home"), .row(.region, 3, key: "work"),
        ]
        app.setWantedWakes(wakes)
        #expect(app.taken.count { $0.isSpawn } == 1)
        app.spawned()
        app.connected()
        #expect(app.commands.map(\.limit) == [30, 30, 10, 10])
        app.acknowledge { $0.key == "home" }
        #expect(app.taken.contains(.finishWake(wakes[2], .acknowledged(.newData))))
        // The first overdue wake ends the process. Some wakes are sent again; a fetch is not.
        app.pass(10)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == .locationOverdue)
        #expect(app.taken.contains(.finishWake(wakes[1], .dropped(ExitCause.locationOverdue.sentence))))
        app.pass(AppMachine.firstFaultPause)
        #expect(app.taken.contains(.spawn(background: true, wakes: [wakes[0], wakes[3]], arguments: [])))
    }

    @Test func `A program completes all wakes with its exit status, and has the longest of their limits`() {
        var app = TestApp(wakeLimit: 20)
        let wakes: [WantedWake] = [.row(.region, 1, key: "home"), .events("a", 2), .row(.push, 3)]
        app.setWantedWakes(wakes)
        app.spawned()
        app.pass(29)
        #expect(!app.all.contains(.kill))
        app.exited(.exited, status: 0)
        for wake in wakes { #expect(app.all.contains(.finishWake(wake, .exited(0)))) }
        #expect(app.machine.record.faults == 0)

        app.setWantedWakes([.row(.region, 4, key: "home"), .row(.push, 5), .row(.fetch, 6)])
        app.spawned()
        app.pass(29)
        #expect(!app.all.contains(.terminate), "the notification has all of its time")
        app.pass(1)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        app.pass(1)
        app.spawned()
        app.exited(.failed, status: 1)
        #expect(app.machine.record.faults == 2)
        #expect(!app.all.contains(.finishWake(.row(.push, 5), .exited(0))))
    }

    @Test func `A program found to link the library gets the full time for its wakes from then on`() {
        var app = TestApp()
        app.setWantedWakes([.events("a", 1), .row(.region, 2), .row(.processing, 3)])
        app.spawned()
        app.pass(50)
        app.connected()
        #expect(app.commands.map(\.limit) == [30, 10, 300])
    }

    @Test func `The limit of a wake begins when the app receives it, even after a slow launch`() {
        var app = TestApp()
        app.suspended()
        app.exited(.signalled)
        app.setWantedWakes([.row(.region, 1)])
        app.pass(2)
        app.spawned()
        app.pass(15)
        app.connected()
        #expect(app.commands.map(\.limit) == [10])
        app.pass(9)
        #expect(!app.all.contains(.kill))
        app.pass(1)
        #expect(app.taken == [.kill])
    }

    @Test func `The service ends an app that never receives its wake`() {
        var app = TestApp()
        app.suspended()
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.setWantedWakes([.row(.region, 1)])
        #expect(app.taken == [.thaw])
        app.pass(10 + AppMachine.launchLimit - 0.1)
        #expect(!app.all.contains(.kill))
        app.pass(0.2)
        #expect(app.taken == [.kill])
    }

    @Test(arguments: [WakeSource.fetch, .push, .processing])
    func `The service does not wake an app without the background mode in its entry`(source: WakeSource) throws {
        var app = TestApp()
        let mode = try #require(source.rules.mode)
        app.machine.modes.remove(mode)
        app.setWantedWakes([.row(source, 1)])
        // A feature waits for this result.
        let why = "The app's entry does not declare the background mode '\(mode.rawValue)'."
        #expect(app.taken == [.finishWake(.row(source, 1), .dropped(why))])
        #expect(app.machine.nextDeadline == nil)
        app.machine.modes.insert(mode)
        app.setWantedWakes([.row(source, 1)])
        #expect(!app.taken.contains { $0.isSpawn })
        app.setWantedWakes([.row(source, 2)])
        #expect(app.taken.contains { $0.isSpawn })
    }

    @Test(arguments: WakeSource.allCases)
    func `A force quit prevents every wake, and discards wakes that are not repeated`(source: WakeSource) {
        let isKept = [.session, .region, .significantChange, .response].contains(source)
        let forceQuit = "You force-quit the app."
        var app = TestApp()
        app.suspended()
        app.setWantedWakes([.row(source, 1)])
        #expect(app.taken.first == .thaw)
        app.feed { $0.quit(force: true, now: $1) }
        #expect(app.taken.contains(.finishWake(.row(source, 1), .dropped(forceQuit))) == !isKept)
        app.exited(.signalled)
        app.setWantedWakes([.row(source, 2)])
        #expect(!app.taken.contains { $0.isSpawn })
        #expect(app.taken.contains(.finishWake(.row(source, 2), .dropped(forceQuit))) == !isKept)
        // The user starts the app.
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        app.connected()
        #expect(app.commands.contains { $0.source == source } == (isKept && source != .session))
    }

    @Test(arguments: WakeSource.allCases) func `A wake has no limit while the app is in the foreground`(
        source: WakeSource
    ) {
        var app = TestApp()
        app.launchedByUser()
        app.setWantedWakes([.row(source, 1)])
        let isTold = [.push, .region, .significantChange, .continued, .response].contains(source)
        #expect(app.commands.map(\.source) == (isTold ? [source] : []))
        #expect(app.commands.allSatisfy { $0.limit == nil })
        app.pass(1_000)
        #expect(!app.all.contains(.kill) && app.machine.nextDeadline == nil)
        // In the background the app receives the other wakes, and gets a limit for those that it already has.
        app.leave()
        if isTold {
            #expect(app.taken.contains(.finishWake(.row(source, 1), .acknowledged(.newData))))
        } else {
            #expect(app.commands.map(\.limit) == [source.limit(declared: 30)])
        }
    }

    @Test func `A wake received in the foreground gets a limit when the user leaves the app`() {
        var app = TestApp()
        app.launchedByUser()
        app.setWantedWakes([.row(.push, 1)])
        #expect(AppActivity([app.machine]).wakes == 0, "no device waits for who may take its time")
        app.feed { $0.sendToBackground(now: $1) }
        app.acknowledge { $0.action != .handleWake }
        #expect(AppActivity([app.machine]).wakes == 1)
        app.pass(29)
        #expect(app.state == .background && !app.all.contains(.kill))
        app.pass(1)
        #expect(app.taken == [.kill])
    }

    @Test func `An app that the service may not suspend gets its wakes at once, and is never ended`() {
        var app = TestApp()
        app.connected(managed: false)
        app.acknowledgeAll()
        app.feed { $0.changed(to: .background, now: $1) }
        app.acknowledgeAll()
        app.setWantedWakes([.row(.push, 1), .row(.fetch, 2)])
        #expect(app.commands.map(\.source) == [.push])
        app.pass(1_000)
        #expect(!app.all.contains(.kill))
    }

    @Test func `An expired wake does not wake its app, but a running one continues`() {
        var app = TestApp()
        let end = app.now.bootSeconds + 5
        let wakes: [WantedWake] = [.row(.push, 1, expires: end), .row(.region, 2, key: "home", expires: end)]
        app.setWantedWakes([wakes[0]])
        app.spawned()
        app.connected()
        app.pass(6)
        app.setWantedWakes(wakes)
        #expect(app.taken == [.finishWake(wakes[1], .dropped("The wake has expired."))])
        #expect(app.commands.map(\.source) == [.push])
        app.acknowledgeAll()
        #expect(app.taken.contains(.finishWake(wakes[0], .acknowledged(.newData))))
        #expect(app.notes(.appWakeDropped) == ["home: The wake has expired."])
    }

    @Test func `A wake can expire during the pause after a crash`() {
        var app = TestApp()
        app.setWantedWakes([.row(.region, 1, expires: app.now.bootSeconds + 0.5)])
        app.spawned()
        app.exited(.failed, status: 1)
        app.pass(AppMachine.firstFaultPause)
        #expect(!app.taken.contains { $0.isSpawn } && app.machine.wakes(now: app.now).isEmpty)
    }

    @Test(arguments: [WakeSource.fetch, .push])
    func `A restarted service sends a region event again, but ends a fetch or push with its process`(source: WakeSource)
    {
        var app = TestApp()
        let wakes: [WantedWake] = [.row(source, 1), .row(.region, 2)]
        app.setWantedWakes(wakes)
        app.spawned()
        app.connected()
        app.restartService(isAlive: false)
        #expect(
            app.taken.contains(.finishWake(wakes[0], .unseen("Its process ended while the service was not running."))))
        #expect(app.machine.record.faults == 0)
        app.setWantedWakes(wakes)
        #expect(app.taken.contains(.spawn(background: true, wakes: [wakes[1]], arguments: [])))
    }

    @Test(arguments: WakeSource.allCases) func `Only wakes for sessions delay the tasks that the app adds`(
        source: WakeSource
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(source, 1)])
        #expect((app.machine.startsPausedUntil(now: app.now) != nil) == (source == .session))
    }
}

extension WantedWake {
    /// Returns a wake of a source. The payload is the wake's number; a wake for a session refers to messages instead.
    static func row(
        _ source: WakeSource, _ through: Int64, key: String = "", expires: Double? = nil
    ) -> WantedWake {
        WantedWake(
            app: TestApp.id, reason: WakeReason(source), key: key, through: through,
            payload: source == .session ? nil : Data("\(through)".utf8), expires: expires)
    }
}
