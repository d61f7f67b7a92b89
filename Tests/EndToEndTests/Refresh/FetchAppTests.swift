import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of background fetches and scheduled tasks of a Swift app, with real processes and the real service.
@Suite(.serialized, .timeLimit(.minutes(20))) struct FetchAppTests {
    private func refresh(_ app: AppFixture) async throws -> AppRefreshStatus {
        try await app.api.get("/v1/refresh/\(app.app)")
    }

    /// Makes the app fetch now.
    private func fetchNow(_ app: AppFixture) async throws {
        try await app.api.send("POST", "/v1/refresh/\(app.app)/fetch")
    }

    /// Suspends until this many fetches have ended, and returns all of them.
    private func ended(_ count: Int, _ app: AppFixture) async throws -> [FetchRecord] {
        do {
            try await eventually("\(count) fetches that have ended") {
                try await refresh(app).fetches.filter { $0.ended != nil }.count >= count
            }
        } catch is WaitedTooLong {
            throw await AppFixture.InVain(what: "the end of fetch \(count): \(try await refresh(app))", fixture: app)
        }
        return try await refresh(app).fetches
    }

    private func set(_ key: String, to value: String?, _ app: AppFixture) async throws {
        let body = #"{"overrides": {"\#(key)": \#(value.map { "\"\($0)\"" } ?? "null")}}"#
        try await app.api.send("PATCH", "/v1/device", Data(body.utf8))
    }

    @Test func `R1: A suspended app is woken, fetches, and is suspended again with a new snapshot`() async throws {
        let app = try AppFixture { $0.fetchInterval = 0 }
        try await app.install(modes: "fetch;")
        try await app.launch()
        try await app.wait(for: .active)
        try await eventually("its interval") { try await refresh(app).interval == .minimum }
        try await app.perform("background")
        try await app.waitUntilSuspended()
        let pictures = app.seen(.snapshot).count
        try await fetchNow(app)
        try await app.wait(for: .fetched)
        #expect(try await ended(1, app).map(\.result) == [.newData])
        try await app.waitUntilSuspended()
        #expect(app.seen(.snapshot).count == pictures + 1)
        #expect(app.seen(.launched).count == 1 && app.seen(.fetching).allSatisfy(\.isOnMainThread))
    }

    @Test func `R1: A fetch interval outlives the app's process and the service, but not the app's removal`()
        async throws
    {
        let app = try AppFixture {
            $0.fetchInterval = 7_200
            $0.fetch.answer = .noData
        }
        try await app.install(modes: "fetch;")
        try await app.launch()
        try await eventually("its interval") { try await refresh(app).interval == .seconds(7_200) }
        try await app.quit()
        try await app.service.stop()
        try await app.service.start()
        #expect(try await refresh(app).interval == .seconds(7_200))
        #expect(try await refresh(app).intervalSource == .app)

        // The service launched the app in the background for the fetch. A second fetch right away would wait for the
        // interval.
        try await fetchNow(app)
        #expect(try await ended(1, app).map(\.result) == [.noData])
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])
        #expect(try await refresh(app).hold == "interval")

        try await app.quit()
        try await app.api.send("DELETE", "/v1/apps/\(app.app)")
        await #expect(throws: Problem.self) { _ = try await refresh(app) }
    }

    @Test func `R1: A fetch outlives its killed service, and counts once`() async throws {
        let app = try AppFixture { $0.fetchInterval = 0 }
        try app.order { $0.fetch.gate = app.gate("answer") }
        try await app.install(modes: "fetch;")
        try await app.launch()
        try await eventually("its interval") { try await refresh(app).interval == .minimum }
        try await app.quit()
        try await fetchNow(app)
        try await app.wait(for: .fetching)
        try await app.killService()
        if (try? await app.api.status()) == nil { try? await app.service.start() }
        try await app.waitForService()
        try app.open(app.gate("answer"))
        let fetches = try await ended(1, app)
        #expect(fetches.map(\.result) == [.newData] && app.seen(.fetching).count == 1)
        try await app.waitUntilSuspended()
    }

    @Test func `R10: A processing task runs while the device is idle, and expires when the user returns`()
        async throws
    {
        let task = "org.example.Probe.tidy"
        var order = ScheduledTaskOrder(task, .processing, at: .launched)
        order.conduct = .expire
        let app = try AppFixture { $0.scheduledTasks = [order] }
        try await app.install("X-Nightshift-TaskIdentifiers=\(task)", modes: "processing;")
        try await set("idle", to: "no", app)
        try await app.launch()
        try await app.wait(for: .submitted)
        try await app.quit()
        let waiting = try #require(try await refresh(app).scheduled.first)
        #expect(waiting.task.identifier == task && waiting.began == nil && waiting.sentence != nil)

        try await set("idle", to: "yes", app)
        try await app.wait(for: .running, within: .seconds(120))
        try await set("idle", to: "no", app)
        try await app.wait(for: .expired)
        try await app.wait(for: .ended)
        try await eventually("that nothing waits or runs") { try await refresh(app).scheduled.isEmpty }
        #expect(try await app.status().lastExit?.cause != .processingOverdue)
        #expect(app.seen(.running).map(\.text) == ["BGProcessingTask"])
    }

    @Test func `R10: A task that the user started continues in the background, visible and cancellable`()
        async throws
    {
        let task = "org.example.Probe.export.film"
        var order = ScheduledTaskOrder(task, .continued, at: .active)
        order.title = "Exporting"
        order.units = 4
        order.delay = 0.2
        let app = try AppFixture()
        order.gate = app.gate("never")
        try app.order { $0.scheduledTasks = [order] }
        try await app.install("X-Nightshift-TaskIdentifiers=org.example.Probe.export.*", modes: "processing;")
        try await app.launch()
        try await app.wait(for: .running)
        try await app.perform("background")
        try await eventually("its progress") {
            try await refresh(app).scheduled.first?.progress?.completedUnits == 4
        }
        #expect(try await refresh(app).scheduled.first?.progress?.totalUnits == 4)
        #expect(try await app.status().state == .background, "it is not suspended before its task has ended")
        let shown = try await app.service.cli(["app", "show", app.app])
        #expect(shown.output.contains("Exporting"), "\(shown.output)")

        try await app.api.send("DELETE", "/v1/refresh/\(app.app)/scheduled-tasks/\(task)")
        try await app.wait(for: .expired)
        try await app.waitUntilSuspended()
        #expect(try await refresh(app).scheduled.isEmpty)
    }

    @Test func `R10: The service refuses a task that the desktop entry does not declare`() async throws {
        let app = try AppFixture {
            $0.scheduledTasks = [ScheduledTaskOrder("org.example.Probe.other", .refresh)]
        }
        try await app.install("X-Nightshift-TaskIdentifiers=org.example.Probe.refresh", modes: "fetch;")
        try await app.launch()
        try await app.wait(for: .notRegistered)
    }
}
