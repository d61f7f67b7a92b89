import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests with real apps of background tasks, their expiration, and the end of apps that do not finish (L2 to L5).
@Suite(.serialized, .timeLimit(.minutes(20))) struct BackgroundTaskTests {
    /// Returns an app in the background that has started `tasks` on its way there.
    private func probe(
        policy: String, _ tasks: [BackgroundTaskOrder], lines: String = "", isLeft: Bool = true,
        _ change: (inout Orders) -> Void = { _ in }
    ) async throws -> AppFixture {
        let app = try AppFixture()
        try app.order {
            $0.backgroundTasks = tasks
            change(&$0)
        }
        try await app.install("X-Nightshift-BackgroundPolicy=\(policy)\n\(lines)")
        try await app.launch()
        try await app.wait(for: .active)
        if isLeft { try await app.perform("background") }
        return app
    }

    private func begin(
        _ name: String = "task", at point: Point = .background, handler: BackgroundTaskOrder.Handler = .end,
        count: Int = 1
    ) -> BackgroundTaskOrder {
        var order = BackgroundTaskOrder(.begin, name, at: point)
        order.handler = handler
        order.count = count
        return order
    }

    @Test func `L5: An app that ends its task in the main-thread expiration handler is suspended`()
        async throws
    {
        let app = try await probe(policy: "opportunistic:12", [begin("saving")])
        let told = try await app.wait(for: .taskExpired)
        #expect(told.isOnMainThread)
        let left = try #require(told.remaining)
        #expect(left > 0 && left <= 5, "\(left) s were left")
        try await app.waitUntilSuspended()
        let status = try await app.status()
        #expect(status.lastExit == nil && app.seen(.taskExpired).count == 1)
        let backgroundRun = try #require(status.background.stints.last)
        #expect(backgroundRun.end == .suspended && backgroundRun.tasks == ["saving"] && !backgroundRun.heldAwake)
        #expect((7...12).contains(backgroundRun.seconds), "\(backgroundRun.seconds)")
    }

    @Test func `L5: An app that does not end its task gets a warning, then is ended with the reason`() async throws {
        let app = try await probe(policy: "opportunistic:10", [begin("forever", handler: .keep)])
        let status = try await app.wait(for: "its end") { $0.lastExit != nil }
        #expect(status.lastExit?.cause == .taskOverdue)
        #expect(app.seen(.taskExpired).count == 1)
        #expect(status.background.stints.last?.end == .terminated)
        let said = try await app.service.cli(["app", "show", app.app]).output
        #expect(said.contains("0x2182bad2") && said.contains("forever"), "\(said)")
        let journal = try await app.service.cli(["journal", "--app", app.app]).output
        let told = try #require(journal.range(of: Decision.backgroundTimeExpiring.sentence), "\(journal)")
        let ended = try #require(journal.range(of: Decision.appEnded.sentence), "\(journal)")
        #expect(told.lowerBound < ended.lowerBound)
    }

    @Test func `L5: The service ends an app whose expiration handler never returns`() async throws {
        let app = try await probe(policy: "opportunistic:10", [begin("stuck", handler: .hold)])
        let status = try await app.wait(for: "its end") { $0.lastExit != nil }
        #expect(status.lastExit?.cause == .taskOverdue)
    }

    @Test func `L2: An app is suspended after the last of 200 concurrent tasks has ended`()
        async throws
    {
        var end = BackgroundTaskOrder(.end, "many", at: .background)
        end.delay = 1
        let app = try await probe(
            policy: "opportunistic", [begin("many", at: .active, count: 200), end], isLeft: false)
        try await app.wait(for: .taskBegun, count: 200)
        // Starting a task does not wait for the service's response.
        let status = try await app.wait(for: "the last of them") { $0.background.tasks.count == 200 }
        #expect(status.background.remaining == nil, "in front there is no limit")
        try await app.perform("background")
        try await app.waitUntilSuspended()
        #expect(app.seen(.taskEnded).count == 200 && app.seen(.taskRefused).isEmpty)
        #expect(Set(app.seen(.taskBegun).compactMap(\.task)).count == 200)
    }

    @Test func `L4: The remaining time is unlimited in the foreground, then counts down locally`()
        async throws
    {
        var reports = BackgroundTaskOrder(.report, "clock", at: .background)
        reports.delay = 0.1
        reports.count = 20
        reports.interval = 0.05
        let app = try await probe(
            policy: "opportunistic:60", [BackgroundTaskOrder(.report, "front", at: .active), begin(), reports])
        let front = try await app.wait(for: .remaining, task: "front")
        #expect(front.remaining == .greatestFiniteMagnitude)
        try await app.wait(for: .remaining, count: 20, task: "clock")
        // These are the ends of the time according to each report. Reading the two clocks one after the other can only
        // make an end later.
        let ends = app.seen(.remaining, task: "clock").compactMap { sighting in
            sighting.remaining.map { $0 + sighting.awakeSeconds }
        }
        let (first, second) = (try #require(ends.prefix(10).min()), try #require(ends.suffix(10).min()))
        #expect(abs(first - second) < 0.05, "\(ends)")
        #expect(ends.count == 20 && app.seen(.remaining, task: "clock").allSatisfy { $0.remaining ?? 0 < 60 })
        #expect(try await app.status().state == .background)
        try await app.perform("activate")
    }

    @Test func `L2: The service refuses a task that starts too late, with a reason`() async throws {
        var late = begin("late")
        late.delay = 6
        let app = try await probe(policy: "opportunistic:10", [begin("first", handler: .keep), late])
        let refused = try await app.wait(for: .taskRefused)
        #expect(refused.text?.contains("too little for another task") == true, "\(refused)")
    }

    @Test func `L4: The background run and its limit end when the user returns to the app`() async throws {
        let app = try await probe(policy: "opportunistic:10", [begin("work", handler: .keep)])
        try await app.wait(for: .taskExpired)
        try await app.perform("activate")
        try await app.wait(for: "the foreground") { $0.state == .active }
        let status = try await app.status()
        #expect(status.background.remaining == nil && status.background.tasks.count == 1)
        #expect(status.background.stints.last?.end == .foreground)
        #expect(status.lastExit == nil)
    }

    @Test func `L3: The service ends an app that leaves the foreground too slowly`() async throws {
        let app = try await probe(policy: "opportunistic", [], isLeft: false) { $0.rules = [Rule(.background, .hold)] }
        try await app.perform("background")
        let status = try await app.wait(for: "its end") { $0.lastExit != nil }
        #expect(status.lastExit?.cause == .backgroundTimeout)
    }

    @Test func `L3: The service ends an app that starts too slowly`() async throws {
        let app = try AppFixture()
        try await app.install()
        try await app.launch()
        // From then on, the service knows that the app links the library.
        try await app.wait(for: "its connection") { $0.isConnected }
        try await app.quit()
        try app.order { $0.rules = [Rule(.launched, .hold)] }
        try await app.launch()
        let status = try await app.wait(for: "its end") { $0.lastExit?.cause != .quit && $0.lastExit != nil }
        #expect(status.lastExit?.cause == .launchTimeout)
    }
}
