import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of the behaviour of sessions and their tasks as apps see it (sections 2.4, 2.5, 3.8, 3.9 and 4).
@Suite(.serialized, .timeLimit(.minutes(20))) struct SessionTests {
    private let content = Content.seeded(size: 2 << 20, seed: 41)

    @Test func `T1: A 404 response is a file, not an error`() async throws {
        let app = try AppFixture()
        try app.order { $0.transfers = [TransferOrder(app.origin.url("/missing"), "missing")] }
        try await app.install()
        try await app.launch()
        let end = try await app.wait(for: .completed)
        #expect(end.code == nil && end.status == 404)
        #expect(app.seen(.finishing).map(\.status) == [404])
        #expect(try !fileBytes(app.file("missing")).isEmpty)
        #expect(app.origin.requests(for: "/missing").count == 1, "and it is not tried again")
    }

    @Test(arguments: [false, true])
    func `T1: An upload from a file delivers the response's body, also after a relaunch`(diesMeanwhile: Bool)
        async throws
    {
        let (app, gate) = (try AppFixture(), Gate())
        app.origin.serve("/up", Resource(content: .bytes([]), behaviours: diesMeanwhile ? [.holdHead(gate)] : []))
        let source = try app.scratch.write(content.bytes(0..<content.size), to: "source")
        var order = TransferOrder(app.origin.url("/up"), "upload")
        order.source = source
        try app.order { [order] in
            $0.transfers = [order]
            if diesMeanwhile { $0.rules = [Rule(.begun, .crash)] }
        }
        try await app.install()
        if diesMeanwhile { try await app.launchUntilItDies() } else { try await app.launch() }
        gate.open()
        let end = try await app.wait(for: .completed)
        #expect(end.status == 201 && end.code == nil)
        #expect(app.seen(.body).map(\.text) == ["stored\n"])
        let received = try #require(app.origin.requests(for: "/up").last?.body)
        #expect(try received.matches(content))
        if diesMeanwhile {
            try await app.wait(for: .finishedEvents)
            #expect(app.backgroundStory() == [.launched, .body, .completed, .finishedEvents])
        } else {
            let sent = app.seen(.sent).compactMap(\.bytes)
            #expect(sent == sent.sorted() && sent.last == content.size)
        }
    }

    @Test(arguments: [Int64(64 << 10), 24 << 20])
    func `T5: The service sends all of an upload whose file is removed right after resume()`(size: Int64) async throws {
        let app = try AppFixture()
        let content = Content.seeded(size: size, seed: 42)
        app.origin.serve("/up", Resource(content: .bytes([])))
        let source = try app.scratch.write(content.bytes(0..<content.size), to: "source")
        var order = TransferOrder(app.origin.url("/up"), "upload")
        order.source = source
        order.removesSource = true
        try app.order { [order] in $0.transfers = [order] }
        try await app.install()
        try await app.launch()
        let end = try await app.wait(for: .completed)
        #expect(end.status == 201 && end.code == nil)
        #expect(!FileManager.default.fileExists(atPath: source))
        #expect(try #require(app.origin.requests(for: "/up").last?.body).matches(content))
    }

    @Test func `T1: Cookies of redirects are sent to the next URL and reach the app's storage`() async throws {
        let app = try AppFixture()
        app.origin.serve(
            "/film",
            .text(
                "",
                .status(
                    302,
                    fields: [HTTPField("Location", "/real"), HTTPField("Set-Cookie", "sid=1; Path=/")])))
        app.origin.serve("/real", .text("film", .field("Set-Cookie", "seen=2; Path=/")))
        try app.order { $0.transfers = [TransferOrder(app.origin.url("/film"), "film")] }
        try await app.install()
        try await app.launch()
        let end = try await app.wait(for: .completed)
        #expect(end.cookies == ["seen=2", "sid=1"])
        #expect(app.origin.requests(for: "/real").map { $0.field("Cookie") } == ["sid=1"])
    }

    @Test func `T6: A new task continues a cancelled download from resume data and reports the offset`() async throws {
        let (app, gate) = (try AppFixture(), Gate())
        app.origin.serve("/film", Resource(content: content, behaviours: [.holdAfter(1 << 20, gate).times(1)]))
        try app.order {
            $0.transfers = [TransferOrder(app.origin.url("/film"), "film")]
            $0.rules = [Rule(.progress, .cancelAndResume)]
        }
        try await app.install()
        try await app.launch()
        try await app.wait(for: .completed, task: "film again")
        gate.open()
        let cancelled = try #require(app.seen(.completed, task: "film").first)
        #expect(cancelled.code == NSURLErrorCancelled && cancelled.hasResumeData == true && cancelled.reason == nil)
        let again = app.seen(task: "film again").map(\.event).filter { $0 != .progress }
        #expect(again == [.made, .resumed, .finishing, .moved, .completed])
        let resumed = try #require(app.seen(.resumed).first)
        #expect(resumed.bytes ?? 0 > 0 && resumed.expected == content.size)
        #expect(app.origin.requests(for: "/film").last?.field("Range") == "bytes=\(resumed.bytes ?? 0)-")
        let first = try #require(app.seen(.progress, task: "film again").first?.bytes)
        #expect(first > resumed.bytes ?? 0, "progress counts from the offset on")
        #expect(try content.firstMismatch(inFileAt: app.file("film again")) == nil)
    }

    @Test func `T7: The number, description and priority of a task survive a relaunch`() async throws {
        let (app, gate) = (try AppFixture(), Gate())
        for name in ["a", "b"] {
            app.origin.serve("/\(name)", .text(name, .holdHead(gate)))
        }
        try app.order { orders in
            orders.transfers = ["a", "b"].map { TransferOrder(app.origin.url("/\($0)"), "the \($0)") }
            orders.transfers[0].priority = 0.75
            orders.transfers[1].priority = 0.25
        }
        try await app.install()
        try await app.launch()
        try await app.origin.waitForRequest(count: 2)
        try await app.killApp()
        try app.order { $0.transfers = [] }
        try await app.wait(for: "the end") { $0.lastExit != nil }
        let process = try await app.launch().processID
        try await eventually("both tasks") { app.seen(.known).count { $0.process == process } == 2 }
        let made = Dictionary(uniqueKeysWithValues: app.seen(.made).map { ($0.description, $0.task) })
        let known = app.seen(.known).filter { $0.process == process }.sorted { $0.task ?? 0 < $1.task ?? 0 }
        #expect(known.map(\.description) == ["the a", "the b"])
        #expect(known.map(\.priority) == [0.75, 0.25])
        #expect(known.allSatisfy { made[$0.description] == $0.task })
        gate.open()
        try await app.wait(for: .completed, count: 2)
        #expect(Set(app.seen(.completed).compactMap(\.priority)) == [0.75, 0.25])
    }

    @Test func `T7: A second process gets NSURLErrorBackgroundSessionInUseByAnotherProcess for a session of the first`()
        async throws
    {
        let (app, gate) = (try AppFixture(), Gate())
        app.origin.serve("/film", Resource(content: content, behaviours: [.holdFrom(1 << 20, gate)]))
        try app.order { $0.transfers = [TransferOrder(app.origin.url("/film"), "film")] }
        try await app.install()
        try await app.launch()
        try await app.wait(for: .progress)
        let second = try AppFixture(service: app.service, origin: app.origin) {
            $0.transfers = [TransferOrder(app.origin.url("/film"), "second")]
        }
        let process = try second.startByHand()
        let end = try await second.wait(for: .completed)
        #expect(end.domain == NSURLErrorDomain && end.code == NSURLErrorBackgroundSessionInUseByAnotherProcess)
        #expect(try await second.wait(for: .invalid).code == NSURLErrorBackgroundSessionInUseByAnotherProcess)
        process.stop(SIGKILL)
        gate.open()
        try await app.wait(for: .completed, task: "film")
        #expect(app.seen(.completed).map(\.code) == [nil])
        #expect(try await app.api.tasks().count == 1)
        #expect(try content.firstMismatch(inFileAt: app.file("film")) == nil)
    }

    @Test func `T7: Two apps do not see each other's sessions of the same name`() async throws {
        let one = try AppFixture("org.example.One")
        let two = try AppFixture("org.example.Two", service: one.service, origin: one.origin)
        try await expectApart(one, two)
        #expect(try await one.status().sessions == ["main"])
        #expect(try await two.status().sessions == ["main"])
    }

    @Test func `T7: The same app in two homes counts as two apps`() async throws {
        let one = try AppFixture()
        let two = try AppFixture(origin: one.origin)
        try await expectApart(one, two)
        #expect(try await one.api.tasks().count == 3)
        #expect(try await two.api.tasks().count == 3)
    }

    /// Expects that each app downloads, dies, and is relaunched only for its own files.
    private func expectApart(_ one: AppFixture, _ two: AppFixture) async throws {
        let gate = Gate()
        for (index, app) in [one, two].enumerated() {
            for file in 0..<3 {
                app.origin.serve("/\(index)/\(file)", .text("file \(file) of \(index)", .holdHead(gate)))
            }
            try app.order { orders in
                orders.transfers = (0..<3).map { TransferOrder(app.origin.url("/\(index)/\($0)"), "\(index)-\($0)") }
                orders.rules = [Rule(.begun, .crash)]
            }
            try await app.install()
        }
        for app in [one, two] { try await app.launchUntilItDies() }
        gate.open()
        for (index, app) in [one, two].enumerated() {
            try await app.wait(for: .completed, count: 3)
            try await app.waitUntilSuspended()
            #expect(Set(app.seen(.completed).compactMap(\.description)) == Set((0..<3).map { "\(index)-\($0)" }))
            #expect(app.seen(.completed).count == 3)
            for file in 0..<3 {
                #expect(try fileBytes(app.file("\(index)-\(file)")) == Array("file \(file) of \(index)".utf8))
            }
        }
    }
}
