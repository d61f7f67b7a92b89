import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of wakes with a payload: pushes, region events and responses. Until the app has received one, only the newest
/// one counts.
@Suite struct NewsTests {
    private static let news: [WakeSource] = [.push, .region, .significantChange, .response]
    private static let replaced = WakeOutcome.dropped("A newer wake replaced it.")

    private func told(_ app: TestApp) -> [Int64?] { app.commands.filter { $0.action == .handleWake }.map(\.through) }

    /// Returns an app that links the library and is not running.
    private func known() -> TestApp {
        var app = TestApp()
        app.suspended()
        app.feed { $0.quit(force: false, now: $1) }
        app.exited(.signalled)
        return app
    }

    @Test(arguments: news) func `R3 R6: A launched app receives only the newest wake with each key, once`(
        source: WakeSource
    ) {
        var app = known()
        app.setWantedWakes([.row(source, 1, key: "k")])
        app.spawned()
        app.setWantedWakes([.row(source, 2, key: "k")])
        #expect(app.taken == [.finishWake(.row(source, 1, key: "k"), Self.replaced)])
        app.setWantedWakes([.row(source, 3, key: "k")])
        #expect(app.taken == [.finishWake(.row(source, 2, key: "k"), Self.replaced)])
        app.connected()
        #expect(told(app) == [3] && app.commands.first?.payload == Data("3".utf8))
        #expect(app.commands.first?.limit == source.limit(declared: 30))
        app.acknowledgeAll()
        #expect(app.all.contains(.finishWake(.row(source, 3, key: "k"), .acknowledged(.newData))))
        app.setWantedWakes([])
        app.acknowledgeAll()
        #expect(app.state == .suspended && app.ends.count == 3)
    }

    @Test(arguments: news) func `R3 R6: A program counts as having received the wakes for which it was launched`(
        source: WakeSource
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(source, 1)])
        app.spawned()
        app.setWantedWakes([.row(source, 2)])
        #expect(app.taken == [])
        app.exited(.exited, status: 0)
        #expect(app.ends == [.finishWake(.row(source, 1), .exited(0))])
        #expect(app.taken.contains(.spawn(background: true, wakes: [.row(source, 2)], arguments: [])))
    }

    @Test(arguments: news) func `R3 R6: A program found to link the library receives the newest wake`(
        source: WakeSource
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(source, 1)])
        app.spawned()
        app.setWantedWakes([.row(source, 2)])
        app.connected()
        #expect(told(app) == [2] && app.ends == [.finishWake(.row(source, 1), Self.replaced)])
    }

    @Test(arguments: news) func `R3 R6: An app that has received a wake also receives the next one with the same key`(
        source: WakeSource
    ) {
        var app = known()
        app.setWantedWakes([.row(source, 1)])
        app.spawned()
        app.connected()
        app.setWantedWakes([.row(source, 2)])
        #expect(told(app) == [1] && app.ends == [])
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.setWantedWakes([.row(source, 3)])
        app.connected()
        #expect(told(app) == [1] && app.ends == [], "it may have had it")
        app.acknowledgeAll()
        app.setWantedWakes([.row(source, 3)])
        #expect(told(app) == [3])
    }

    @Test func `R6: Wakes with different keys do not replace each other`() {
        var app = known()
        let work = WantedWake.row(.region, 2, key: "work")
        app.setWantedWakes([.row(.region, 1, key: "home"), work])
        app.spawned()
        app.setWantedWakes([work, .row(.region, 3, key: "home")])
        app.connected()
        #expect(Set(told(app)) == [2, 3] && app.ends.count == 1)
    }

    @Test func `R3: A running app gets pushes with different keys at once, and ends them separately`() {
        var app = known()
        app.setWantedWakes([.row(.push, 1, key: "a")])
        app.spawned()
        app.connected()
        let wanted: [WantedWake] = [.row(.push, 1, key: "a"), .row(.push, 2, key: "b"), .row(.push, 3, key: "c")]
        app.setWantedWakes(wanted)
        #expect(told(app) == [1, 2, 3] && app.ends.isEmpty)
        app.setWantedWakes([])
        app.acknowledgeAll()
        #expect(app.ends == wanted.map { .finishWake($0, .acknowledged(.newData)) })
    }

    @Test(arguments: [WakeSource.fetch, .processing])
    func `R1 R10: A newer fetch or task does not replace a running one`(source: WakeSource) {
        var app = known()
        app.setWantedWakes([.row(source, 1)])
        app.spawned()
        app.setWantedWakes([.row(source, 2)])
        app.connected()
        #expect(told(app) == [1] && app.ends == [])
    }

    @Test func `R3: An expired or undeclared wake replaces no other wake`() {
        var app = known()
        app.setWantedWakes([.row(.push, 1)])
        app.spawned()
        app.setWantedWakes([.row(.push, 2, expires: app.now.bootSeconds - 1)])
        #expect(app.end(of: 1) == nil && app.end(of: 2)?.result == .failed)
        app.connected()
        #expect(told(app) == [1])
    }

    @Test func `R3: Each push ends exactly once, even if another one replaced it`() {
        var app = known()
        app.setWantedWakes([.row(.push, 1)])
        app.spawned()
        app.setWantedWakes([.row(.push, 2, expires: app.now.bootSeconds - 1)])
        app.setWantedWakes([.row(.push, 3)])
        app.connected()
        app.acknowledgeAll()
        #expect((1...3).map { app.end(of: $0)?.result } == [.failed, .failed, .newData] && app.ends.count == 3)
    }

    @Test func `R3: An app that is being ended receives no new wake, but its next process does`() {
        var app = known()
        app.setWantedWakes([.row(.push, 1)])
        app.spawned()
        app.feed { $0.quit(force: false, now: $1) }
        app.setWantedWakes([.row(.push, 2)])
        app.exited(.exited, status: 0)
        #expect(app.end(of: 1)?.result == .failed && app.end(of: 2) == nil)
        #expect(app.taken.contains(.spawn(background: true, wakes: [.row(.push, 2)], arguments: [])))
    }

    @Test func `R3: A newer push also replaces a push that was running at a restart`() {
        var app = known()
        app.setWantedWakes([.row(.push, 1)])
        app.spawned()
        app.restartService(isAlive: true)
        app.setWantedWakes([.row(.push, 2)])
        app.connected()
        #expect(told(app) == [2] && app.end(of: 1)?.detail == "A newer wake replaced it.")
    }

    // MARK: - Ends of pushes

    @Test(arguments: [
        (Int32(0), RefreshResult.newData, ExitCause.exited), (10, .noData, .exited), (1, .failed, .failed),
    ])
    func `R3: A program's exit status is the result of its push`(
        status: Int32, result: RefreshResult, cause: ExitCause
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(.push, 1)])
        app.spawned()
        app.exited(status == 0 ? .exited : .failed, status: status)
        #expect(app.ends == [.finishWake(.row(.push, 1), .exited(status))] && app.end(of: 1)?.result == result)
        #expect(app.machine.record.lastExit?.cause == cause && app.machine.record.faults == 0)
    }

    @Test func `R3: The service ends a push, and its app, if the app exceeds the push's limit`() {
        var app = known()
        app.setWantedWakes([.row(.push, 1)])
        app.spawned()
        app.connected()
        app.pass(30)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.end(of: 1)?.detail == ExitCause.pushOverdue.sentence && app.machine.record.faults == 1)
        app.pass(AppMachine.firstFaultPause)
        #expect(!app.taken.contains { $0.isSpawn })
    }

    @Test(arguments: [WakeSource.region, .significantChange, .response])
    func `R6: The service restarts a program that fails at a wake for a region, change or response`(source: WakeSource)
    {
        var app = TestApp()
        app.setWantedWakes([.row(source, 1)])
        app.spawned()
        app.exited(.failed, status: 10)
        #expect(app.ends == [] && app.machine.record.faults == 1)
        app.pass(AppMachine.firstFaultPause)
        #expect(app.taken.contains(.spawn(background: true, wakes: [.row(source, 1)], arguments: [])))
    }

    @Test(arguments: [WakeSource.region, .significantChange, .response])
    func `R6: A program that ended with an unknown status does not get its wakes again`(source: WakeSource) {
        for isAdopted in [true, false] {
            var app = TestApp()
            app.setWantedWakes([.row(source, 1)])
            app.spawned()
            app.restartService(isAlive: isAdopted)
            app.setWantedWakes([.row(source, 1)])
            if isAdopted { app.exited(.unseen) }
            let why = "Its program has ended with an unknown status."
            #expect(app.all.contains(.finishWake(.row(source, 1), .unseen(why))), "adopted: \(isAdopted)")
            #expect(app.machine.record.faults == 0)
            app.setWantedWakes([.row(source, 1)])
            app.pass(AppMachine.firstFaultPause)
            #expect(app.all.count { $0.isSpawn } == 1)
            // A later wake counts as new.
            app.setWantedWakes([.row(source, 2)])
            #expect(app.taken.contains(.spawn(background: true, wakes: [.row(source, 2)], arguments: [])))
        }
    }

    @Test func `R6: The service restarts a program that never executed, or that a power failure ended`() {
        for hadBegun in [true, false] {
            var app = TestApp()
            app.setWantedWakes([.row(.region, 1)])
            app.spawned()
            if hadBegun { app.now.bootID = "another boot" }
            app.restartService(isAlive: false, hadBegun: hadBegun)
            app.setWantedWakes([.row(.region, 1)])
            app.pass(AppMachine.firstFaultPause)
            #expect(app.all.count { $0.isSpawn } == 2, "begun: \(hadBegun)")
        }
    }

    @Test func `R6: The service restarts a program that it was ending for exceeding its limit`() {
        var app = TestApp()
        app.setWantedWakes([.row(.region, 1)])
        app.spawned()
        app.pass(10)
        #expect(app.taken == [.kill])
        app.restartService(isAlive: false)
        app.setWantedWakes([.row(.region, 1)])
        app.pass(AppMachine.firstFaultPause)
        #expect(app.all.count { $0.isSpawn } == 2)
    }

    // MARK: - Notifications in the foreground

    @Test func `R3: Only an app in the foreground decides how to present a notification`() throws {
        var app = TestApp()
        let absent = app.asked()
        #expect(absent == nil)
        app.feed { $0.launch(background: false, arguments: [], now: $1) }
        app.spawned()
        let unlinked = app.asked()
        #expect(unlinked == nil, "it does not link the library, as far as is known")
        app.connected()
        let (question, next) = (app.asked(), app.asked())
        let first = try #require(question)
        #expect(first.action == .present && first.key == "n" && first.payload == Data("{}".utf8) && first.limit == 5)
        #expect(try #require(next).number > first.number)
        // The service does not keep an app awake that does not answer, and does not ask again.
        app.acknowledgeAll()
        app.leave()
        app.acknowledgeAll()
        let suspended = app.asked()
        #expect(app.state == .suspended && suspended == nil)
        app.feed { $0.bringToFront(now: $1) }
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        let disconnected = app.asked()
        #expect(disconnected == nil)
        app.connected()
        let connected = app.asked()
        #expect(!app.commands.contains { $0.action == .present } && connected != nil)
        app.feed { $0.quit(force: false, now: $1) }
        let ending = app.asked()
        #expect(ending == nil)
    }
}

extension TestApp {
    fileprivate mutating func asked() -> ProcessCommand? { machine.present("n", Data("{}".utf8)) }
}
