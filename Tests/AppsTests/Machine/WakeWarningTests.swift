import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Expiration handlers of fetches and tasks, and tasks that their user has begun.
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
    func `R1: an app is told before the time of its wake is over, once`(
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

    @Test func `R1: an app that completes its wake when it is told has done nothing wrong`() {
        var app = woken(.fetch)
        app.pass(25)
        app.acknowledge(.failed) { $0.action == .handleWake }
        #expect(app.ends == [.finishWake(.row(.fetch, 1), .acknowledged(.failed))])
        // That its handler has returned says nothing that is still waited for.
        app.acknowledgeAll()
        app.acknowledgeAll()
        #expect(app.state == .suspended && app.machine.record.faults == 0 && !app.all.contains(.kill))
    }

    @Test func `R1: who never says that its handler has returned is suspended all the same`() {
        var app = woken(.fetch)
        app.pass(25)
        app.acknowledge { $0.action != .expireWake }
        app.acknowledge { $0.action == .snapshot }
        #expect(app.state == .suspended)
    }

    @Test func `R1: an app that hears of its wake late is told late, and has the same time`() {
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

    @Test func `R1: a service that was away or busy tells the app all the same, and gives it as long`() {
        var app = woken(.fetch)
        app.pass(40)
        #expect(app.commands.last?.action == .expireWake && app.commands.last?.limit == 5)
        app.pass(4.9)
        #expect(!app.all.contains(.kill))
        app.pass(0.2)
        #expect(app.taken == [.kill])
    }

    @Test func `R1: who is not connected when it is told hears of it when it is, also of the next service`() {
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
    func `Other wakes end without a word before`(source: WakeSource) {
        var app = woken(source, key: "k")
        app.pass(source.limit(declared: 30) ?? 0)
        #expect(app.taken == [.kill])
        #expect(app.notes(.wakeExpiring).isEmpty)
        #expect(app.machine.expireWake(source, key: "k", now: app.now) == nil)
    }

    @Test func `R1: before its user nothing is told, and nothing has an end`() {
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

    @Test func `R1: a program is sent SIGTERM before its time is over, and ended when it is`() {
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
    func `R1: what a program says after SIGTERM counts`(cause: ExitCause, status: Int32, result: RefreshResult) {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.pass(25)
        app.exited(cause, status: status)
        #expect(app.end(of: 1)?.result == result && app.machine.record.faults == 0)
    }

    @Test func `R1: a program that ends by SIGTERM has failed, and is not at fault`() {
        var app = TestApp()
        app.setWantedWakes([.row(.fetch, 1)])
        app.spawned()
        app.pass(25)
        app.exited(.signalled, signal: 15)
        #expect(app.ends.count == 1 && app.end(of: 1)?.result == .failed && app.machine.record.faults == 0)
    }

    @Test func `R1: beside a wake without such a word a program has all of its time`() {
        var app = TestApp(wakeLimit: 20)
        app.setWantedWakes([.row(.fetch, 1), .events("a", 2)])
        app.spawned()
        app.pass(29)
        #expect(app.taken == [])
        app.pass(1)
        #expect(app.taken == [.kill])
    }

    // MARK: - On demand

    @Test(arguments: [WakeSource.fetch, .processing])
    func `R1: a wake that is called off is told at once, and has no more than the lead`(source: WakeSource) {
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

    @Test func `R1: a program that is called off is sent SIGTERM`() {
        var app = TestApp()
        app.setWantedWakes([.row(.processing, 1, key: "clean"), .events("a", 2)])
        app.spawned()
        app.callOff(.processing, "clean")
        #expect(app.taken == [.terminate])
    }

    @Test(arguments: warned) func `R1: what has not begun, or nobody has heard of, is given up when it is called off`(
        source: WakeSource
    ) {
        // Left alone after a fault.
        var app = TestApp()
        app.suspended()
        app.exited(.signalled)
        app.setWantedWakes([.row(source, 1)])
        #expect(!app.taken.contains { $0.isSpawn })
        app.callOff(source, "")
        #expect(app.end(of: 1)?.detail == "It was called off before it began.")
        app.pass(3_600)
        #expect(!app.taken.contains { $0.isSpawn })
        // On its way.
        app.setWantedWakes([.row(source, 2)])
        app.spawned()
        app.callOff(source, "")
        #expect(app.end(of: 2)?.result == .failed && app.machine.nextDeadline != nil, "it may still connect")
        app.connected()
        #expect(app.commands.allSatisfy { $0.action != .handleWake } && app.state == .suspended)
        #expect(app.machine.expireWake(source, key: "", now: app.now) == nil)
        #expect(app.ends.count == 2)
    }

    // MARK: - Tasks that their user has begun

    @Test func `R10: a task that its user has begun goes on behind their back, without a limit and through doze`() {
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
        // A background task beside it has no end either, until this has one.
        #expect(app.begin(1) == nil)
        app.pass(7_200)
        #expect(app.notes(.backgroundTimeExpiring).isEmpty)
        app.acknowledge(.newData) { $0.action == .handleWake }
        #expect(app.ends == [.finishWake(.row(.continued, 1, key: "export"), .acknowledged(.newData))])
        #expect(app.remaining == 180 && app.taken.contains(.freeze), "it stands still like any other")
    }

    @Test func `R10: a task that begins while the app is suspended wakes it, and takes the limit away`() {
        var app = woken(.continued, key: "export")
        #expect(app.taken.first == .thaw && app.remaining == nil)
        app.pass(1_000)
        app.acknowledgeAll()
        #expect(app.remaining == 180)
        app.acknowledgeAll()
        #expect(app.state == .suspended)
    }

    @Test func `R10: a task that its user cancels and that goes on is given up, and the app goes on`() {
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

    @Test func `R10: in front of its user, too, a task that is cancelled ends, and nothing else does`() {
        var app = TestApp()
        app.launchedByUser()
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        app.callOff(.continued, "export")
        app.pass(5)
        #expect(app.end(of: 1)?.result == .failed && app.state == .active && app.taken.count == 1)
    }

    @Test func `R10: a task ends with its process, which is no fault`() {
        var app = TestApp()
        app.launchedByUser()
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        app.exited(.exited, status: 0)
        #expect(app.end(of: 1)?.detail == "Its process ended first." && app.machine.record.faults == 0)
        app.setWantedWakes([.row(.continued, 1, key: "export")])
        #expect(!app.all.contains(where: { if case .spawn(true, _, _) = $0 { true } else { false } }))
    }

    @Test func `R10: nobody runs for ever for a task that they have never heard of`() {
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
