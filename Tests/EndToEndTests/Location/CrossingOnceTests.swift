import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests that kill the service between a region event and the end of its wake. The event must have its effect once.
@Suite(.enabled(if: PreloadedLibrary.isPossible, "needs a compiler for C"), .timeLimit(.minutes(20)))
struct CrossingOnceTests {
    /// The time at which the service is killed, and the state of the script then.
    enum Moment: CaseIterable {
        /// The event is on disk, and the service is about to create the script's process.
        case beforeLaunch
        /// The script runs, and it ends while no service runs.
        case endsWithoutService
        /// The script runs, and it ends while the next service runs.
        case endsUnderTheNext
        /// The script has ended, and the service has not noticed that yet.
        case behindItsEnd
    }

    @Test(.enabled(if: Machine.canTrace, "needs strace and the right to trace"))
    func `R6: Each region event starts a script once, wherever the service is killed`() async throws {
        let (service, machine) = (try Service(), try await SleepingMachine())
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        try await service.start(under: machine.command)
        try await service.move(metres: 500)
        let script = try await WatchingScript(on: service)
        try await eventually("the side on which it is at first") {
            try await script.status().regions.first?.state == .outside
        }
        let moments = Moment.allCases + Moment.allCases
        for (number, moment) in moments.enumerated() {
            let begunBefore = try script.begun().count
            try script.closeGate()
            let tracer = moment == .beforeLaunch ? try await service.inject("clone", "signal=SIGKILL:when=1") : nil
            try await service.move(metres: number % 2 == 0 ? 0 : 500)
            if let tracer {
                _ = try await #require(service.process).waitForExit()
                _ = try await tracer.waitForExit()
                #expect(try await service.wakesOnDisk() == 1 && script.begun().count == begunBefore)
                try script.openGate()
            } else {
                try await eventually("the script, \(number): \(moment)") { try script.begun().count > begunBefore }
                if moment == .behindItsEnd { try await service.process?.halt() } else { try await service.kill() }
                if moment == .endsUnderTheNext { try await service.start(under: machine.command) }
                try script.openGate()
                try await eventually("its end, \(number): \(moment)") { try !script.isAlive() }
                if moment == .behindItsEnd { try await service.kill() }
            }
            if moment != .endsUnderTheNext { try await service.start(under: machine.command) }
            // If a service has ended the script after its ten seconds, the service starts the script again after a
            // pause.
            do {
                try await eventually("the wake's end, \(number): \(moment)", within: .seconds(120)) {
                    try await service.wakesOnDisk() == 0 && script.done().count == number + 1
                }
            } catch {
                let journal = try await service.cli(["journal", "--since", "all"]).output
                let app = try await service.cli(["app", "show", WatchingScript.id, "--json"]).output
                let rows = try await service.wakesOnDisk()
                Issue.record(
                    "\(rows) wakes on disk, \(try script.begun().count) begun, \(try script.done().count) done: \(app)\n\(journal)"
                )
                throw error
            }
        }
        // Each script was started once, and a second time only if the service had ended it. No event remains to be
        // delivered.
        let kinds = moments.indices.map { $0 % 2 == 0 ? LocationEvent.Kind.entered : .left }
        #expect(try script.done().map(\.kind) == kinds)
        let journal = try await service.cli(["journal", "--since", "all"]).output
        let overdue = journal.components(separatedBy: ExitCause.locationOverdue.sentence).count - 1
        let begun = try script.begun()
        #expect(begun.count == kinds.count + overdue && Set(begun.map(\.time)).count == kinds.count, "\(journal)")
        let status = try await script.status()
        #expect(status.wakes == moments.count && status.regions.first?.crossings == moments.count)
        let app: AppStatus = try await service.api.get("/v1/apps/\(WatchingScript.id)")
        #expect(app.wakes.isEmpty && app.state == .notRunning)
    }

    /// Returns an app in the background whose delegate has received a region event. The service is stopped from then
    /// on, so that the time limit of the wake does not elapse and the service does not notice the end of the callback.
    private func heard(_ machine: SleepingMachine) async throws -> AppFixture {
        let service = try Service()
        let app = try AppFixture(service: service)
        let gate = app.gate("gate")
        try await service.start(under: machine.command)
        let process = try #require(service.process)
        try app.order { orders in
            var location = LocationOrder()
            let home = BlockWalk.home
            location.regions = [RegionOrder("home", home.latitude, home.longitude, radius: 200, at: .launched)]
            orders.location = location
            var (halt, hold) = (Rule(.crossed, .halt), Rule(.crossed, .hold))
            halt.process = process.pid
            hold.gate = gate
            orders.rules = [halt, hold]
        }
        try await service.move(metres: 500)
        try await app.install()
        let always = try JSON.encode(AppLocationChange(permission: .always))
        try await service.api.send("PATCH", "/v1/location/\(app.app)", always)
        try await app.launch()
        try await app.wait(for: .regionStarted)
        try await eventually("the side on which it is at first") {
            let status: AppLocationStatus = try await service.api.get("/v1/location/\(app.app)")
            return status.regions.first?.state == .outside
        }
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await service.move(metres: 0)
        try await app.wait(for: .entered, within: .seconds(60))
        try await process.halt()
        try app.open(gate)
        let notes = service.paths.state.appending(path: "heard").path
        // While it is being written, the file has another name.
        try await eventually("the library's note") { service.names(in: notes).contains(app.app) }
        return app
    }

    @Test func `R6: A delegate that got an event while the service was killed does not get it again`()
        async throws
    {
        let machine = try await SleepingMachine()
        let app = try await heard(machine)
        try await app.service.kill()
        // Only the app's library starts the service here.
        try await app.waitForService()
        try await eventually("the wake's end") { try await app.service.wakesOnDisk() == 0 }
        let account = await app.account()
        #expect(app.seen(.entered).count == 1 && app.seen(.launched).count == 1, "\(account)")
        try await app.waitUntilSuspended()
    }

    @Test func `R6: An app that dies with the service after its callback does not get the event again`()
        async throws
    {
        let machine = try await SleepingMachine()
        let app = try await heard(machine)
        try await app.killApp()
        try await app.service.kill()
        try app.order { $0.location?.regions = [] }
        try await app.service.start(under: machine.command)
        try await eventually("the wake's end") { try await app.service.wakesOnDisk() == 0 }
        #expect(app.seen(.entered).count == 1 && app.seen(.launched).map(\.text) == ["foreground", "background"])
    }
}
