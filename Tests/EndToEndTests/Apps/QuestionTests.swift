import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of challenges from servers and of begin dates, for an app that is not running (T9, section 2.4).
@Suite(.serialized, .timeLimit(.minutes(20))) struct QuestionTests {
    private let content = Content.seeded(size: 300_000, seed: 51)

    /// Returns an app that has started one download and died.
    private func dead(
        _ behaviours: [Behaviour], beginsIn delay: Double? = nil, holdsAt point: Point? = nil,
        _ change: (inout Orders) -> Void
    ) async throws -> AppFixture {
        let (app, gate) = (try AppFixture(), Gate())
        app.origin.serve("/secret", Resource(content: content, behaviours: [.holdHead(gate)] + behaviours))
        app.origin.serve("/other", .text("another"))
        try app.order {
            var order = TransferOrder(app.origin.url("/secret"), "secret")
            order.beginsIn = delay
            $0.transfers = [order]
            $0.rules = [Rule(.begun, .crash)]
            if let point {
                var hold = Rule(point, .hold)
                hold.gate = app.gate("gate")
                $0.rules.append(hold)
            }
            $0.replacement = app.origin.url("/other")
            change(&$0)
        }
        try await app.install()
        try await app.launchUntilItDies()
        gate.open()
        return app
    }

    private static let schemes: [Behaviour] = [
        .requireBasic(user: "me", password: "open sesame"), .requireDigest(user: "me", password: "open sesame"),
    ]

    @Test(arguments: schemes.indices)
    func `T9: A dead app is launched for a Basic or Digest challenge and provides the credential`(
        scheme: Int
    ) async throws {
        let app = try await dead([Self.schemes[scheme]]) {
            $0.answer = .credential
            $0.user = "me"
            $0.password = "open sesame"
        }
        let end = try await app.wait(for: .completed)
        try await app.waitUntilSuspended()
        #expect(end.status == 200 && end.code == nil)
        #expect(app.seen(.challenge).count == 1)
        #expect(app.seen(.challenge).first?.code == 0)
        #expect(app.seen(.challenge).first?.text?.isEmpty == false, "the realm")
        let story = app.seen().filter { $0.process != app.seen(.launched).first?.process }.map(\.event)
        let order: [Sighting.Event] = [.challenge, .finishing, .moved, .completed]
        #expect(story.filter { order.contains($0) } == order)
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])
        #expect(app.seen(.handleEvents).count == app.seen(.finishedEvents).count)
        #expect(try content.firstMismatch(inFileAt: app.file("secret")) == nil)
    }

    @Test func `T9: A wrong credential causes another challenge, which counts the failures`() async throws {
        let app = try await dead([.requireBasic(user: "me", password: "open sesame")]) {
            $0.answer = .credential
            $0.user = "me"
            $0.password = "wrong"
        }
        try await app.wait(for: .challenge, count: 2)
        try app.order { $0.password = "open sesame" }
        #expect(app.seen(.challenge).prefix(2).map(\.code) == [0, 1])
    }

    @Test func `T9: Cancelling a challenge ends the task with NSURLErrorCancelled`() async throws {
        let app = try await dead([.requireBasic(user: "me", password: "x")]) { $0.answer = .cancel }
        let end = try await app.wait(for: .completed)
        #expect(end.code == NSURLErrorCancelled && end.reason == nil)
        try await app.waitUntilSuspended()
        #expect(app.seen(.finishing).isEmpty)
        #expect(app.origin.requests(for: "/secret").count == 1)
    }

    @Test(arguments: [Orders.Answer.default, .reject])
    func `T9: Without a credential the app gets the 401 response`(answer: Orders.Answer) async throws {
        let app = try await dead([.requireBasic(user: "me", password: "x")]) { $0.answer = answer }
        let end = try await app.wait(for: .completed)
        #expect(end.status == 401 && end.code == nil)
        try await app.waitUntilSuspended()
        #expect(app.seen(.challenge).count == 1)
    }

    @Test func `T9: A task whose challenge nobody answers ends with the resource timeout`() async throws {
        let app = try await dead([.requireBasic(user: "me", password: "x")]) {
            $0.answer = .never
            $0.sessions[0].resourceTimeout = 2
        }
        let end = try await app.wait(for: .completed)
        #expect(end.code == NSURLErrorTimedOut)
        try await app.waitUntilSuspended()
    }

    @Test func `T9: A dead app is launched to allow the start of its delayed request`() async throws {
        let app = try await dead([], beginsIn: 1, holdsAt: .delayed) { $0.delayed = .proceed }
        try await app.wait(for: .delayed)
        #expect(app.origin.requests.isEmpty)
        try app.open(app.gate("gate"))
        let end = try await app.wait(for: .completed)
        #expect(end.status == 200 && end.code == nil)
        try await app.waitUntilSuspended()
        #expect(app.seen(.delayed).count == 1)
        #expect(app.seen(.delayed).first?.text == app.origin.url("/secret"))
        #expect(try content.firstMismatch(inFileAt: app.file("secret")) == nil)
    }

    @Test func `T9: An app replaces its delayed request with another`() async throws {
        let app = try await dead([], beginsIn: 1) { $0.delayed = .replace }
        let end = try await app.wait(for: .completed)
        #expect(end.status == 200 && end.code == nil)
        #expect(app.origin.requests(for: "/secret").isEmpty)
        #expect(try fileBytes(app.file("secret")) == Array("another".utf8))
    }

    @Test func `T9: An app cancels its delayed request`() async throws {
        let app = try await dead([], beginsIn: 1) { $0.delayed = .cancel }
        let end = try await app.wait(for: .completed)
        #expect(end.code == NSURLErrorCancelled)
        #expect(app.origin.requests.isEmpty)
    }
}
