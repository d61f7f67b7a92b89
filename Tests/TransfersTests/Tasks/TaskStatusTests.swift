import Foundation
import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of the status of a task that clients see.
@Suite struct TaskStatusTests {
    static let now = ClockReading(bootID: "b", bootSeconds: 100, wallSeconds: 1_800_000_000)

    @Test func `The shown status of a task does not contain secrets`() throws {
        var request = TaskRequest(url: "https://anna:secret-in-url@example.org/f?a=1&sig=secret-signature")
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
                HeaderField(name: "X-Our-Own", value: "secret-unknown"),
                HeaderField(name: "Location", value: "https://example.org/g?token=secret-location"),
            ], httpVersion: "1.1")
        record.currentURL = "https://cdn.example.org/f?X-Amz-Signature=secret-redirect"
        let shown = record.status(now: Self.now).shown
        let text = String(decoding: try JSON.encode(shown), as: UTF8.self)
        #expect(!text.contains("secret"), "\(text)")
        #expect(shown.url == "https://example.org/f?…" && shown.currentURL == "https://cdn.example.org/f?…")
        #expect(shown.response?.headers.first("ETag") == "\"x\"")
        #expect(shown.response?.headers.first("Set-Cookie") == Redaction.mask)
        #expect(shown.response?.headers.first("Location") == "https://example.org/g?…")
        // The task's own app continues with the full URL.
        #expect(record.status(now: Self.now).url == "https://example.org/f?a=1&sig=secret-signature")
    }

    @Test func `Boot times are shown as times of the current wall clock`() throws {
        var request = TaskRequest(url: "https://example.org/f")
        request.resourceTimeout = 500
        let record = try RequestRules.record(
            request, session: .terminal, settings: SessionSettings(), now: Self.now, pointer: "")
        #expect(record.status(now: Self.now).deadline == Date(timeIntervalSince1970: 1_800_000_500))
        // The wall clock was set back by an hour, and the deadline moves with it.
        let later = ClockReading(bootID: "b", bootSeconds: 200, wallSeconds: 1_800_000_100 - 3_600)
        #expect(record.status(now: later).deadline == Date(timeIntervalSince1970: 1_800_000_500 - 3_600))
    }

    @Test func `An unknown byte count is shown as -1`() throws {
        let request = TaskRequest(url: "https://example.org/f")
        var record = try RequestRules.record(
            request, session: .terminal, settings: SessionSettings(), now: Self.now, pointer: "")
        #expect(record.status(now: Self.now).countOfBytesExpectedToReceive == -1)
        var partial = PartialFile(path: "/p", bootID: "b")
        partial.total = 77
        record.partial = partial
        #expect(record.status(now: Self.now).countOfBytesExpectedToReceive == 77)
        #expect(record.status(now: Self.now).method == "GET")
        // The file is complete. The service has stored it, because it could not reach its destination.
        (record.partial, record.state, record.received, record.file) = (nil, .failed, 78, "/files/3")
        #expect(record.status(now: Self.now).countOfBytesExpectedToReceive == 78)
        record.request.kind = .upload
        record.source = FileIdentity(size: 5, modifiedNanoseconds: 0, inode: 0, device: 0)
        #expect(record.status(now: Self.now).countOfBytesExpectedToSend == 5)
        #expect(record.status(now: Self.now).method == "PUT")
    }
}
