import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests in which processes die at every point of a delivery, and each event has its effect once (T1, T10, sections 3.5
/// and 3.6).
@Suite(.serialized, .timeLimit(.minutes(20))) struct OnceTests {
    private let content = Content.seeded(size: 1 << 20, seed: 21)

    private func probe(_ rules: Rule..., behaviours: [Behaviour] = []) async throws -> AppFixture {
        let app = try AppFixture()
        app.origin.serve("/film", Resource(content: content, behaviours: behaviours))
        try app.order {
            $0.transfers = [TransferOrder(app.origin.url("/film"), "film")]
            $0.rules = rules
        }
        try await app.install()
        try await app.launch()
        return app
    }

    /// Returns a rule that holds the process until the returned gate opens.
    private func holding(at point: Point, _ directory: TemporaryDirectory) -> (Rule, gate: String) {
        var rule = Rule(point, .hold)
        rule.gate = directory.path("gate")
        return (rule, directory.path("gate"))
    }

    private func expectWhole(_ app: AppFixture) throws {
        #expect(try content.firstMismatch(inFileAt: app.file("film")) == nil)
    }

    @Test(arguments: [Point.finishing, .moved, .completed])
    func `T10: An app that dies inside a callback gets the event and its file again`(point: Point) async throws {
        let app = try await probe(Rule(point, .crash))
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        let first = try #require(app.seen(.launched).first?.process)
        let died = app.story(of: first).filter { $0 != .active }
        let all: [Sighting.Event] = [.launched, .made, .begun, .finishing, .moved, .completed]
        let seen = [Point.finishing: 4, .moved: 5, .completed: 6]
        #expect(died == Array(all.prefix(try #require(seen[point]))))
        let moved: Sighting.Event = point == .finishing ? .moved : .movedAgain
        #expect(app.backgroundStory() == [.launched, .finishing, moved, .completed, .finishedEvents])
        #expect(app.seen(.completed).allSatisfy { $0.code == nil })
        try expectWhole(app)
    }

    @Test(arguments: [Point.begun, .finishing, .moved, .completed])
    func `T10: An app does not get an event again if the service is killed inside its callback`(
        point: Point
    ) async throws {
        let scratch = try TemporaryDirectory()
        let (rule, gate) = holding(at: point, scratch)
        let app = try await probe(rule)
        let event: Sighting.Event =
            switch point {
            case .finishing: .finishing
            case .moved: .moved
            case .completed: .completed
            default: .begun
            }
        try await app.wait(for: event)
        let old = try await app.api.status().processID
        try await app.killService()
        try app.open(gate)
        try await app.wait(for: .completed)
        // Only the app's library starts the service here.
        try await app.waitForService(besides: old)
        try await app.waitForAcknowledgement()
        try await app.perform("background")
        try await app.waitUntilSuspended()
        #expect(app.seen(.launched).count == 1)
        #expect(app.seen(.finishing).count == 1)
        #expect(app.seen(.moved).count == 1 && app.seen(.movedAgain).isEmpty)
        #expect(app.seen(.completed).map(\.code) == [nil])
        try expectWhole(app)
    }

    @Test(arguments: [Point.begun, .finishing, .moved, .completed])
    func `T10: A file arrives complete after app and service are killed inside a callback`(
        point: Point
    ) async throws {
        let scratch = try TemporaryDirectory()
        let (rule, _) = holding(at: point, scratch)
        let gate = Gate()
        // Without this, the delegate would receive everything before the main thread is held.
        let app = try await probe(rule, behaviours: point == .begun ? [.holdHead(gate)] : [])
        let event = try #require(Sighting.Event(rawValue: point.rawValue))
        try await app.wait(for: event)
        try await app.service.process?.halt()
        try await app.killApp()
        try await app.service.kill()
        gate.open()
        try await app.service.start()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()
        let moved: Sighting.Event = point == .moved || point == .completed ? .movedAgain : .moved
        #expect(app.backgroundStory() == [.launched, .finishing, moved, .completed, .finishedEvents])
        #expect(app.seen(.launched).count == 2)
        try expectWhole(app)
    }

    @Test(arguments: [true, false])
    func `T10: An app that dies between callback and acknowledgement does not get the event again`(
        serviceDiesToo: Bool
    ) async throws {
        let scratch = try TemporaryDirectory()
        let (rule, gate) = holding(at: .completed, scratch)
        let app = try await probe(rule)
        try await app.wait(for: .completed)
        let service = try #require(app.service.process)
        try await service.halt()
        try app.open(gate)
        // The library writes a record that the app has handled the message.
        let notes = app.service.paths.state.appending(path: "delivered").path
        try await eventually("the library's note") {
            // This checks that the library has not only created the record but also written it.
            app.service.names(in: notes).contains { name in
                name.contains("main") && (try? fileBytes("\(notes)/\(name)").contains(0x0A)) == true
            }
        }
        try await app.killApp()
        if serviceDiesToo {
            try await app.service.kill()
            try await app.service.start()
        } else {
            service.kill(SIGCONT)
        }
        // With or without a background launch, the next process does not receive the event.
        try app.order { $0.transfers = [] }
        try await app.wait(for: "the first process's end") { $0.lastExit != nil && $0.wakes.isEmpty }
        try await app.launch()
        try await app.perform("activate")
        try await app.waitForAcknowledgement()
        try await app.perform("background")
        try await app.waitUntilSuspended()
        #expect(app.seen(.finishing).count == 1)
        #expect(app.seen(.completed).count == 1)
        try expectWhole(app)
    }

    @Test func `T1: Each of 1,000 tasks in a session is delivered once, though the app is killed midway`() async throws
    {
        let (app, gate) = (try AppFixture(), Gate())
        let count = 1_000
        for number in 0..<count { app.origin.serve("/f/\(number)", .text("file number \(number)", .holdHead(gate))) }
        try app.order { orders in
            orders.transfers = (0..<count).map { TransferOrder(app.origin.url("/f/\($0)"), "f\($0)") }
        }
        try await app.install()
        try await app.launch()
        try await app.wait(for: .begun, within: .seconds(60))
        gate.open()
        try await app.wait(for: .completed, count: 300, within: .seconds(60))
        try await app.killApp()
        try app.order { $0.transfers = [] }
        try await app.wait(for: .finishedEvents, within: .seconds(60))
        try await app.waitUntilSuspended()
        let completed = Dictionary(grouping: app.seen(.completed), by: \.task).mapValues(\.count)
        #expect(completed.count == count)
        // Only the event whose callback was running when the app was killed may be repeated.
        #expect(completed.values.filter { $0 > 1 }.count <= 1)
        // The kill may happen between the move and its record. Then only the second process reports that file.
        let (moved, movedAgain) = (app.seen(.moved).map(\.task), app.seen(.movedAgain).map(\.task))
        #expect(Set(moved).count == moved.count, "no file is moved into an empty place twice")
        #expect(Set(moved + movedAgain).count == count)
        #expect(movedAgain.count <= 1)
        let processes = Set(app.seen(.completed).map(\.process))
        #expect(processes.count == 2, "it was killed in the middle")
        for number in 0..<count {
            #expect(try fileBytes(app.file("f\(number)")) == Array("file number \(number)".utf8))
        }
    }
}
