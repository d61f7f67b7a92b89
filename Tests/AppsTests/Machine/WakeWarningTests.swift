import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Tests of expiration handlers of fetches and tasks, and of continued tasks.
@Suite struct WakeWarningTests {
    private static let warned = WakeSource.allCases.filter(\.rules.isWarned)

    private func woken(_ source: WakeSource, key: String = "") -> TestApp {
        var app = TestApp()
        app.suspended()
        app.setWantedWakes([.row(source, 1, key: key)])
        return app
    }

    // MARK: - Before the time is over

    @Test(arguments: [
        (WakeSource.fetch, 30.0, 5.0, 5.0), (.processing, 300, 5, 5), (.fetch, 30, 30, 15), (.fetch, 30, 2, 2),
    ])
    func `R1: An app gets one warning before the time of its wake ends`(
        source: WakeSource, limit: Double, policyLead: Double, lead: Double
    ) {
        var app = woken(source, key: "k")
        app.machine.terms.lead = policyLead
        app.pass(limit - lead - 0.001)
        #expect(app.commands.map(\.action) == [.handleWake])
        app.pass(0.002)
        let command = app.commands.last
        #expect(command?.action == .expireWake && command?.source == source && command?.key == "k")
        #expect(command?.through == 1 && abs((command?.limit ?? 0) - lead) < 0.01)
        #expect(app.notes(.wakeExpiring) == ["k"])
        app.pass(lead / 2)
        #expect(app.commands.count == 2 && !app.all.contains(.kill))
        app.pass(lead / 2 + 0.01)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == source.rules.overdue)
    }

    @Test func `R1: An app that completes its wake after the warning is not at fault`() {
        var app = woken(.fetch)
        app.pass(25)
        app.acknowledge(.failed) { $0.action == .handleWake }
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .acknowledged(.failed))])
        // Acknowledging the warning does not complete the wake.
        app.acknowledgeAll()
        app.acknowledgeAll()
        #expect(app.state == .suspended && app.machine.record.faults == 0 && !app.all.contains(.kill))
    }

    @Test func `R1: The service suspends an app that never acknowledges the warning`() {
        var app = woken(.fetch)
        app.pass(25)
        app.acknowledge { $0.action != .expireWake }
        app.acknowledge { $0.action == .snapshot }
        #expect(app.state == .suspended)
    }

    @Test func `R1: An app that receives its wake late has the same time until the warning and the end`() {
        var app = TestApp()
        app.suspended()
        app.exited(.exited)
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.pass(19)
        app.connected()
        app.pass(24)
        #expect(app.commands.map(\.action) == [.handleWake])
        app.pass(1)
        #expect(app.commands.last?.action == .expireWake)
    }

    @Test func `R1: A service that was delayed still gives the app its full warning time`() {
        var app = woken(.fetch)
        app.pass(40)
        #expect(app.commands.last?.action == .expireWake && app.commands.last?.limit == 5)
        app.pass(4.9)
        #expect(!app.all.contains(.kill))
        app.pass(0.2)
        #expect(app.taken == [.kill])
    }

    @Test func `R1: An unconnected app gets the warning when it connects, also after a restart`() {
        var app = woken(.fetch)
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.pass(25)
        #expect(app.commands.map(\.action) == [.handleWake])
        app.restartService(isAlive: true)
        app.connected()
        #expect(app.commands.map(\.action) == [.handleWake, .expireWake])
        app.acknowledge(.noData) { $0.action == .handleWake }
        #expect(app.end(of: 1)?.result == .noData && app.ends.count == 1)
    }

    @Test(arguments: [WakeSource.session, .push, .region, .significantChange, .response])
    func `Wakes of other sources end without a warning`(source: WakeSource) {
        var app = woken(source, key: "k")
        app.pass(source.limit(declared: 30) ?? 0)
        #expect(app.taken == [.kill])
        #expect(app.notes(.wakeExpiring).isEmpty)
        #expect(app.machine.expireWake(source, key: "k", now: app.now) == nil)
    }

    @Test func `R1: A wake has no limit and no warning in the foreground`() {
        var app = woken(.processing)
        app.feed { $0.bringToFront(now: $1) }
        app.pass(3_600)
        #expect(app.notes(.wakeExpiring).isEmpty && !app.all.contains(.kill))
        app.acknowledge { $0.action != .handleWake }
        app.feed { $0.sendToBackground(now: $1) }
        app.acknowledge { $0.action != .handleWake }
        app.pass(295)
        #expect(app.notes(.wakeExpiring).count == 1)
    }

    // MARK: - Programs

    @Test func `R1: A program gets SIGTERM before its time is over, and SIGKILL when it is over`() {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1), .row(.processing, 2)])
        app.spawned()
        app.pass(294.9)
        #expect(app.taken == [], "the program has the time of the longest")
        app.pass(0.2)
        #expect(app.taken == [.terminate] && app.notes(.wakeExpiring) == ["fetch", "processing"])
        app.pass(4.9)
        #expect(app.taken == [])
        app.pass(0.2)
        #expect(app.taken == [.kill])
    }

    @Test(arguments: [
        (ExitCause.exited, Int32(0), RefreshResult.newData), (.failed, 10, .noData), (.failed, 1, .failed),
    ])
    func `R1: The exit status of a program that exits after SIGTERM is the fetch's result`(
        cause: ExitCause, status: Int32, result: RefreshResult
    ) {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.pass(25)
        app.exited(cause, status: status)
        #expect(app.end(of: 1)?.result == result && app.machine.record.faults == 0)
    }

    @Test func `R1: A program that dies of SIGTERM has failed but is not at fault`() {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.pass(25)
        app.exited(.signalled, signal: 15)
        #expect(app.ends.count == 1 && app.end(of: 1)?.result == .failed && app.machine.record.faults == 0)
    }

    @Test func `R1: A program that also has a wake without a warning gets no SIGTERM`() {
        var app = TestApp(wakeLimit: 20)
        app.setWantedWakes([.row(.fetch, 1), .events("a", 2)])
        app.spawned()
        app.pass(29)
        #expect(app.taken == [])
        app.pass(1)
        #expect(app.taken == [.kill])
    }

    // MARK: - Called-off wakes

    @Test(arguments: [WakeSource.fetch, .processing])
    func `R1: An app whose wake is called off gets the warning at once, and only the warning time`(source: WakeSource) {
        var app = woken(source, key: "k")
        app.pass(2)
        app.callOff(source, "k")
        #expect(app.commands.last?.action == .expireWake && app.commands.last?.limit == 5)
        app.callOff(source, "k")
        #expect(app.taken == [], "once")
        app.pass(4.9)
        #expect(app.taken == [])
        app.pass(0.2)
        #expect(app.taken == [.kill])
        app.exited(.signalled)
        #expect(app.machine.record.lastExit?.cause == source.rules.overdue)
    }

    @Test func `R1: A program whose wake is called off gets SIGTERM`() {
        var app = TestApp()
        app.setWantedWakes([.row(.processing, 1, key: "clean"), .events("a", 2)])
        app.spawned()
        app.callOff(.processing, "clean")
        #expect(app.taken == [.terminate])
    }

    @Test(arguments: warned) func `R1: The service drops a called-off wake that no app has received`(
        source: WakeSource
    ) {
        // The app is in the pause after a crash.
        var app = TestApp()
        app.suspended()
        app.exited(.signalled)
        app.setWantedWakes([.row(source, 1)])
        #expect(!app.taken.contains { $0.isSpawn })
        app.callOff(source, "")
        #expect(app.end(of: 1)?.detail == "The wake was called off before it began.")
        app.pass(3_600)
        #expect(!app.taken.contains { $0.isSpawn })
        // The wake has begun, but the app has not received it yet.
        app.setWantedWakes([.row(source, 2)])
        app.spawned()
        app.callOff(source, "")
        #expect(app.end(of: 2)?.result == .failed && app.machine.nextDeadline != nil, "it may still connect")
        app.connected()
        #expect(app.commands.allSatisfy { $0.action != .handleWake } && app.state == .suspended)
        #expect(app.machine.expireWake(source, key: "", now: app.now) == nil)
        #expect(app.ends.count == 2)
    }

    // MARK: - Continued tasks

    @Test func `R10: A continued task has no limit in the background, not even during doze`() {
        var app = TestApp()
        app.launchedByUser()
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        #expect(app.commands.map(\.source) == [.continued] && app.commands.first?.limit == nil)
        app.feed { $0.sendToBackground(now: $1) }
        app.acknowledge { $0.action != .handleWake }
        #expect(app.remaining == nil && app.machine.clock == .unlimited && app.state == .background)
        #expect(AppActivity([app.machine]) == AppActivity(), "it holds nothing")
        app.feed { $0.apply(.dozing, now: $1) }
        app.pass(7_200)
        #expect(!app.all.contains(.freeze) && !app.all.contains(.kill) && app.machine.nextDeadline == nil)
        // A background task has no limit either, until the continued task has ended.
        #expect(app.begin(1) == nil)
        app.pass(7_200)
        #expect(app.notes(.backgroundTimeExpiring).isEmpty)
        app.acknowledge(.newData) { $0.action == .handleWake }
        #expect(app.ends == [.finishWake(.row(.continued, 1, key: "export"), .acknowledged(.newData))])
        #expect(app.remaining == 180 && app.taken.contains(.freeze), "it stands still like any other")
    }

    @Test func `R10: A continued task wakes a suspended app and removes its limit`() {
        var app = woken(.continued, key: "export")
        #expect(app.taken.first == .thaw && app.remaining == nil)
        app.pass(1_000)
        app.acknowledgeAll()
        #expect(app.remaining == 180)
        app.acknowledgeAll()
        #expect(app.state == .suspended)
    }

    @Test func `R10: The service drops a cancelled continued task that does not end, but not its app`() {
        var app = woken(.continued, key: "export")
        app.pass(1_000)
        app.callOff(.continued, "export")
        #expect(app.commands.last?.action == .expireWake && app.commands.last?.limit == 5)
        app.pass(4.9)
        #expect(app.ends == [])
        app.pass(0.2)
        #expect(app.end(of: 1)?.result == .failed && !app.all.contains(.kill))
        #expect(app.commands.contains { $0.action == .snapshot } || app.state == .suspended)
        app.acknowledgeAll()
        #expect(app.state == .suspended && app.machine.record.faults == 0 && app.ends.count == 1)
    }

    @Test func `R10: A continued task cancelled in the foreground ends without ending its app`() {
        var app = TestApp()
        app.launchedByUser()
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        app.callOff(.continued, "export")
        app.pass(5)
        #expect(app.end(of: 1)?.result == .failed && app.state == .active && app.taken.count == 1)
    }

    @Test func `R10: A continued task ends with its process, which is not at fault`() {
        var app = TestApp()
        app.launchedByUser()
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        app.exited(.exited, status: 0)
        #expect(
            app.end(of: 1)?.detail == "Its process ended before the work was done." && app.machine.record.faults == 0)
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        #expect(!app.all.contains(where: { if case .spawn(true, _, _) = $0 { true } else { false } }))
    }

    @Test func `R10: An app has no unlimited time for a task that it has not received`() {
        var app = TestApp()
        app.suspended()
        app.feed { machine, _ in
            machine.disconnected()
            return []
        }
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        #expect(app.state == .background)
        app.pass(AppMachine.launchLimit)
        #expect(app.end(of: 1)?.result == .failed && app.state == .suspended)
    }
}

extension TestApp {
    mutating func callOff(_ source: WakeSource, _ key: String) {
        feed { $0.expireWake(source, key: key, now: $1) ?? [] }
    }
}
