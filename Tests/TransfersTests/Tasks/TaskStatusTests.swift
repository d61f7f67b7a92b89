import Foundation
import NightshiftAPI
import Store
import Testing
import Transfers

/// What a task shows of itself.
@Suite struct TaskStatusTests {
    static let now = ClockReading(bootID: "b", bootSeconds: 100, wallSeconds: 1_800_000_000)

    @Test func noSecretIsShown() throws {
        var request = TaskRequest(url: "https://anna:secret-in-url@example.org/f")
        request.headers = [
            HeaderField(name: "Authorization", value: "Bearer secret-token"),
            HeaderField(name: "Cookie", value: "secret-cookie"),
            HeaderField(name: "X-Api-Key", value: "secret-key"),
        ]
        request.proxy = "http://bob:secret-proxy@proxy:3128"
        var record = try RequestRules.record(
            request, session: .terminal, settings: SessionSettings(), now: Self.now, pointer: "")
        record.response = ResponseSummary(
            status: 200,
            headers: [
                HeaderField(name: "Set-Cookie", value: "secret-session"), HeaderField(name: "ETag", value: "\"x\""),
                HeaderField(name: "authorization", value: "secret-echo"),
            ], httpVersion: "1.1")
        let text = String(decoding: try JSON.encode(record.status(now: Self.now)), as: UTF8.self)
        #expect(!text.contains("secret"), "\(text)")
        #expect(text.contains("\"url\":\"https://example.org/f\""))
        #expect(record.status(now: Self.now).response?.headers.first("ETag") == "\"x\"")
        #expect(record.status(now: Self.now).response?.headers.first("Set-Cookie") == Redaction.mask)
    }

    @Test func bootTimesShowAsTimesOfThePresentWallClock() throws {
        var request = TaskRequest(url: "https://example.org/f")
        request.resourceTimeout = 500
        let record = try RequestRules.record(
            request, session: .terminal, settings: SessionSettings(), now: Self.now, pointer: "")
        #expect(record.status(now: Self.now).deadline == Date(timeIntervalSince1970: 1_800_000_500))
        // The wall clock was set back by an hour: the deadline moves with it.
        let later = ClockReading(bootID: "b", bootSeconds: 200, wallSeconds: 1_800_000_100 - 3_600)
        #expect(record.status(now: later).deadline == Date(timeIntervalSince1970: 1_800_000_500 - 3_600))
    }

    @Test func expectationsAreKnownOrMinusOne() throws {
        let request = TaskRequest(url: "https://example.org/f")
        var record = try RequestRules.record(
            request, session: .terminal, settings: SessionSettings(), now: Self.now, pointer: "")
        #expect(record.status(now: Self.now).countOfBytesExpectedToReceive == -1)
        var partial = PartialFile(path: "/p", bootID: "b")
        partial.total = 77
        record.partial = partial
        #expect(record.status(now: Self.now).countOfBytesExpectedToReceive == 77)
        #expect(record.status(now: Self.now).method == "GET")
        record.request.kind = .upload
        record.source = FileIdentity(size: 5, modifiedNanoseconds: 0, inode: 0, device: 0)
        #expect(record.status(now: Self.now).countOfBytesExpectedToSend == 5)
        #expect(record.status(now: Self.now).method == "PUT")
    }
}
