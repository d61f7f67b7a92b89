import Foundation
import HTTPTransport
import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of small files over one HTTP/2 connection.
@Suite(.timeLimit(.minutes(20))) struct SharedConnectionTests {
    private let server: WebServer
    private let certificates: TestCertificates
    private let transport = TestTransport()
    private let large = SeededContent(seed: 5, size: 40_000_000)

    init() async throws {
        certificates = try await TestCertificates()
        var options = WebServer.NginxOptions()
        options.certificates = certificates
        // The header field identifies the connection.
        options.extra = "add_header X-Connection $connection always;"
        server = try await WebServer.nginx(options)
        for number in 0..<200 {
            try server.publish("\(number)", .seeded(size: small(number).size, seed: UInt64(number)))
        }
        try server.publish("large", .seeded(size: large.size, seed: large.seed))
    }

    private func small(_ number: Int) -> SeededContent {
        SeededContent(seed: UInt64(number), size: Int64(number * 211))
    }

    private func request(_ path: String) -> WireRequest { .direct(server.url("/\(path)"), certificates: certificates) }

    /// Makes requests until the transport has recorded that the server sends small files.
    private func makeHabit() async throws {
        for number in 0..<20 { #expect(try await transport.end(request("\(number)")).outcome == .complete) }
    }

    private func connection(_ receiver: Receiver) -> String? { receiver.heads.first?.headers.first("X-Connection") }

    @Test(arguments: [(50, 1), (200, 8)])
    func `T6: Many small files share a few connections`(count: Int, connections: Int) async throws {
        try await makeHabit()
        let files = try (0..<count).map { _ in try TestFile() }
        let receivers = files.map { file in Receiver { _ in .file(file.sink()) } }
        for (number, receiver) in receivers.enumerated() { _ = transport.begin(request("\(number)"), receiver) }
        for (number, receiver) in receivers.enumerated() {
            let end = try await receiver.end()
            #expect(end.outcome == .complete)
            #expect(end.head?.httpVersion == "2")
            #expect(try files[number].matches(small(number)))
        }
        #expect(Set(receivers.map(connection)).count <= connections)
    }

    @Test func `T6: An empty file ends with its head`() async throws {
        try await makeHabit()
        // The end of a stream that came with its head, while the bytes of another exchange were read, was noticed only
        // with the next event.
        for _ in 0..<300 {
            let receivers = (0..<4).map { _ in Receiver() }
            for receiver in receivers { _ = transport.begin(request("0"), receiver) }
            for receiver in receivers { #expect(try await receiver.end().outcome == .complete) }
        }
    }

    @Test func `T6: A rate-limited or partial request has a connection of its own`() async throws {
        try await makeHabit()
        let shared = Receiver()
        _ = try await transport.end(request("1"), shared)
        let changes: [@Sendable (inout WireRequest) -> Void] = [
            { $0.rateLimit = 1_000_000 }, { $0.headers = [HeaderField(name: "Range", value: "bytes=0-10")] },
        ]
        for change in changes {
            let receiver = Receiver()
            #expect(try await transport.end(request("150").with(change), receiver).outcome == .complete)
            #expect(connection(receiver) != connection(shared))
        }
    }

    @Test func `T6: An unexpectedly large file does not delay small ones`() async throws {
        try await makeHabit()
        let file = try TestFile(ceiling: 5_000_000)
        let receiver = Receiver { _ in .file(file.sink()) }
        let handle = transport.begin(request("large"), receiver)
        try await eventually("the ceiling") { file.position.value == 5_000_000 }
        for number in 0..<20 {
            let other = Receiver()
            #expect(try await transport.end(request("\(number)"), other).outcome == .complete)
            #expect(connection(other) != connection(receiver))
        }
        file.ceiling.value = .max
        handle.resumeWriting()
        #expect(try await receiver.end().outcome == .complete)
        #expect(try file.matches(large))
    }

    @Test func `T6: Cancelling one exchange does not affect others on its connection`() async throws {
        try await makeHabit()
        let files = try (0..<100).map { _ in try TestFile() }
        let receivers = files.map { file in Receiver { _ in .file(file.sink()) } }
        let handles = receivers.indices.map { transport.begin(request("\($0 + 100)"), receivers[$0]) }
        for number in stride(from: 0, to: 100, by: 2) { handles[number].cancel() }
        for (number, receiver) in receivers.enumerated() {
            let end = try await receiver.end()
            if number % 2 == 0 {
                #expect(end.outcome == .cancelled || end.outcome == .complete)
            } else {
                #expect(end.outcome == .complete)
                #expect(try files[number].matches(small(number + 100)))
            }
        }
    }
}
