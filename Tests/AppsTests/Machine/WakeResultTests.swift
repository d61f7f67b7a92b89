import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of the results of fetches and tasks: from the app, from a program's exit status, or from an end without
/// either.
@Suite struct WakeResultTests {
    private static let chances = WakeSource.allCases.filter(\.rules.hasResult)

    @Test(arguments: RefreshResult.allCases) func `R1: The result that an app reports is the result of its fetch`(
        result: RefreshResult
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.connected()
        app.acknowledge(result) { $0.action == .handleWake }
        let outcome = WakeOutcome.acknowledged(result)
        #expect(app.all.contains(.finishWake(.row(.fetch, 1), outcome)))
        #expect(outcome.end(at: 7) == WakeEnd(result: result, time: 7))
        // A failed fetch does not count as a fault of the app.
        app.acknowledgeAll()
        #expect(app.state == .suspended && app.machine.record.faults == 0)
    }

    @Test func `R1: After a fetch the app makes a new snapshot and is suspended again`() {
        var app = TestApp()
        app.suspended()
        app.setWantedWakes([.row(.fetch, 1)])
        #expect(app.state == .background)
        app.acknowledgeAll()
        #expect(app.commands.map(\.action) == [.snapshot])
        app.acknowledgeAll()
        #expect(app.state == .suspended && app.taken.contains(.freeze))
    }

    @Test func `R1: The service ends an app whose fetch takes longer than 30 s, with a specific cause`() {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.connected()
        app.pass(25)
        app.pass(4.9)
        #expect(!app.all.contains(.kill))
        app.pass(0.2)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        let exit = app.machine.record.lastExit
        #expect(exit?.cause == .fetchOverdue && exit?.sentence.contains("0x2182bad4") == true)
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .dropped(ExitCause.fetchOverdue.sentence))])
        #expect(app.machine.record.faults == 1)
        app.setWantedWakes([.row(.fetch, 1)])
        app.pass(3_600)
        #expect(!app.taken.contains { $0.isSpawn } && app.ends.count == 1, "given up")
    }

    @Test(arguments: [
        (Int32(0), RefreshResult.newData, ExitCause.exited), (10, .noData, .exited), (1, .failed, .failed),
        (127, .failed, .failed), (143, .failed, .failed),
    ])
    func `R1: A program's exit status is the result of its fetch and does not count as a crash`(
        status: Int32, result: RefreshResult, cause: ExitCause
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1), .row(.processing, 2, key: "clean")])
        app.spawned()
        app.exited(status == 0 ? .exited : .failed, status: status)
        let end = WakeOutcome.exited(status).end(at: 0)
        #expect(end.result == result && (end.detail == nil) == (result != .failed))
        #expect(
            app.ends == [
                .finishWake(.row(.fetch, 1), .exited(status)),
                .finishWake(.row(.processing, 2, key: "clean"), .exited(status)),
            ])
        #expect(app.machine.record.lastExit?.cause == cause && app.machine.record.lastExit?.status == status)
        #expect(app.machine.record.faults == 0)
        app.setWantedWakes([.row(.fetch, 3)])
        #expect(app.taken.contains { $0.isSpawn }, "nothing pauses its launches")
    }

    @Test(arguments: [Int32(10), 1])
    func `R1: A nonzero exit status does not complete a session's wake in the same launch`(
        status: Int32
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1), .events("a", 2)])
        app.spawned()
        app.exited(.failed, status: status)
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .exited(status))])
        #expect(app.machine.record.faults == 1 && app.machine.record.lastExit?.cause == .failed)
        app.pass(AppMachine.firstFaultPause)
        #expect(app.taken.contains(.spawn(background: true, wakes: [.events("a", 2)], arguments: [])))
    }

    @Test(arguments: [ExitCause.signalled, .unseen])
    func `R1: A fetch fails if a signal ends its program, and has no result after an unknown status`(cause: ExitCause) {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.exited(cause, signal: cause == .signalled ? 11 : nil)
        #expect(app.ends.count == 1 && app.end(of: 1)?.result == (cause == .signalled ? .failed : nil))
        // A crash counts as a fault; an unknown status does not.
        #expect(app.machine.record.faults == (cause == .signalled ? 1 : 0))
        app.restartService(isAlive: false)
        app.setWantedWakes([])
        #expect(app.ends.count == 1)
    }

    @Test func `R1: A fetch fails if an app with the library exits during it with any status`() {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.connected()
        app.exited(.exited, status: 0)
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .dropped("Its process ended before the work was done."))])
        #expect(app.machine.record.faults == 1)
    }

    @Test(arguments: chances) func `R1: A failed launch ends the fetch`(source: WakeSource) {
        var app = TestApp()
        app.setWantedWakes([.row(source, 1)])
        app.feed { $0.spawnFailed("No such program.", now: $1) }
        #expect(app.ends == [.finishWake(.row(source, 1), .dropped(ExitCause.launchFailed.sentence))])
    }

    @Test(arguments: chances) func `R1: A fetch of an app without an entry ends at once`(
        source: WakeSource
    ) {
        var app = TestApp(isInstalled: false)
        app.setWantedWakes([.row(source, 1)])
        #expect(app.ends == [.finishWake(.row(source, 1), .dropped("The app has no desktop entry."))])
    }

    @Test func `R1: The service drops a fetch that expires while it waits for a pause or the background`() {
        var app = TestApp()
        app.launchedByUser()
        let end = app.now.bootSeconds + 60
        app.setWantedWakes([.row(.fetch, 1, expires: end), .events("a", 1)])
        let next = app.machine.nextDeadline ?? 0
        #expect(abs(next - app.now.awakeSeconds - 60) < 0.1)
        app.pass(59)
        // The wall clock is wrong by any amount.
        app.now.wallSeconds += 40 * 86_400
        app.pass(0.5)
        #expect(app.ends == [])
        app.pass(0.6)
        #expect(app.ends == [.finishWake(.row(.fetch, 1, expires: end), .dropped("The wake has expired."))])
        #expect(app.machine.nextDeadline == nil)
    }

    @Test func `R1: Opening an app ends its fetch without a result, and a late result is ignored`() {
        var app = TestApp()
        app.suspended()
        app.setWantedWakes([.row(.fetch, 1), .row(.processing, 2)])
        app.feed { $0.bringToFront(now: $1) }
        let why = "Its app came to the foreground."
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .unseen(why))])
        app.acknowledge(.newData) { $0.action == .handleWake && $0.source == .fetch }
        #expect(app.ends.count == 1)
        app.setWantedWakes([.row(.fetch, 3), .row(.processing, 2)])
        app.feed { $0.sendToBackground(now: $1) }
        #expect(app.machine.record.faults == 0)
    }

    @Test func `R1: A later fetch with the same key does not restart a running fetch, and fails separately`() {
        var app = TestApp()
        app.suspended()
        app.setWantedWakes([.row(.fetch, 1)])
        app.setWantedWakes([.row(.fetch, 2, expires: app.now.bootSeconds + 5)])
        app.pass(6)
        // The later wake expired before the earlier one ended.
        #expect(app.ends.count == 1 && app.end(of: 2)?.result == .failed)
        app.exited(.signalled)
        #expect(app.ends.count == 2 && app.end(of: 1)?.result == .failed)
    }

    // MARK: - Force quit, and restarts of the service

    @Test(arguments: chances) func `R1: A force quit ends running wakes and prevents other wakes`(
        source: WakeSource
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(source, 1)])
        app.spawned()
        app.connected()
        app.feed { $0.quit(force: true, now: $1) }
        #expect(app.end(of: 1)?.detail == "You force-quit the app.")
        app.acknowledgeAll()
        app.exited(.signalled)
        app.setWantedWakes([.row(source, 2)])
        app.pass(3_600)
        #expect(app.ends.count == 2 && app.end(of: 2)?.result == .failed)
        #expect(app.all.count { $0.isSpawn } == 1)
        // The user starts the app, and leaves it.
        app.launchedByUser()
        app.leave()
        app.acknowledgeAll()
        app.setWantedWakes([.row(source, 3)])
        #expect(app.commands.map(\.through) == [3])
    }

    @Test func `R1: A service that restarts during a fetch receives the result once`() {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.connected()
        let told = app.commands
        app.restartService(isAlive: true)
        app.setWantedWakes([.row(.fetch, 1)])
        app.connected()
        #expect(app.commands == told, "it is not begun again")
        app.acknowledge(.noData) { $0.action == .handleWake }
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .acknowledged(.noData))])
        app.restartService(isAlive: true)
        app.setWantedWakes([])
        #expect(app.ends.count == 1)
    }

    @Test func `R1: A fetch whose process ends while no service runs has no result and ends once`() {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.connected()
        app.restartService(isAlive: false)
        app.setWantedWakes([.row(.fetch, 1)])
        app.restartService(isAlive: false)
        app.setWantedWakes([])
        let why = "Its process ended while the service was not running."
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .unseen(why))])
        #expect(!app.taken.contains { $0.isSpawn } && app.machine.record.faults == 0)
    }

    @Test func `R1: A record of a version without wake results keeps its old meaning`() throws {
        let text = #"{"deadline":130,"wake":{"app":"org.example.app","key":"","reason":"fetch","through":1}}"#
        let wake = try JSON.decode(BegunWake.self, from: Data(text.utf8))
        #expect(wake.deadline == 130 && wake.expiration == nil)
    }
}

extension TestApp {
    /// The ends of wakes so far.
    var ends: [AppAction] { all.filter { if case .finishWake = $0 { true } else { false } } }

    /// Returns the end of the wake with this number.
    func end(of number: Int64) -> WakeEnd? {
        all.compactMap { action -> WakeEnd? in
            guard case .finishWake(let wake, let outcome) = action, wake.through == number else { return nil }
            return outcome.end(at: now.wallSeconds)
        }.first
    }
}
