import Foundation
import HTTPTransport
import NightshiftAPI
import TestSupport
import Testing
import Transfers

@Suite(.timeLimit(.minutes(20))) struct DownloadTests {
    private let content = SeededContent(seed: 7, size: 20_000_003)

    private func origin(_ behaviours: Behaviour...) throws -> OriginServer {
        let origin = try OriginServer()
        var resource = Resource.seeded(size: content.size, seed: content.seed)
        resource.behaviours = behaviours
        origin.serve("/file", resource)
        return origin
    }

    @Test(arguments: [false, true])
    func `A download writes the bytes of its resource unchanged`(isChunked: Bool) async throws {
        let origin = try isChunked ? origin(.chunked()) : origin()
        let file = try TestFile()
        let receiver = Receiver { head in
            .file(file.sink(length: head.headers.first("Content-Length").flatMap { Int64($0) }))
        }
        let end = try await TestTransport().end(.direct(origin.url("/file")), receiver)
        #expect(end.outcome == .complete)
        #expect(end.receivedBytes == content.size)
        #expect(try file.matches(content))
        #expect(file.position.value == content.size)
        #expect(receiver.heads.map(\.httpVersion) == ["1.1"])
        let request = try #require(origin.requests(for: "/file").first)
        #expect(request.field("Accept-Encoding") == "identity")
        #expect(request.field("User-Agent") == "nightshift/\(NightshiftVersion.current)")
    }

    @Test func `A range response is written after the bytes that the file already contains`() async throws {
        let origin = try origin()
        let file = try TestFile()
        let half = content.bytes(0..<10_000_000)
        #expect(pwrite(file.descriptor, half, half.count, 0) == half.count)
        let request = WireRequest.direct(
            origin.url("/file"), headers: [HeaderField(name: "Range", value: "bytes=10000000-")])
        let end = try await TestTransport().end(request, Receiver { _ in .file(file.sink(offset: 10_000_000)) })
        #expect(end.outcome == .complete)
        #expect(end.head?.status == 206)
        #expect(end.receivedBytes == content.size - 10_000_000)
        #expect(try file.matches(content))
    }

    @Test func `A write ceiling stops the body at the exact byte until the ceiling is raised`() async throws {
        let origin = try origin()
        let file = try TestFile(ceiling: 12_345)
        let transport = TestTransport()
        let receiver = Receiver { _ in .file(file.sink()) }
        // The timeout is longer than the origin needs to send its next bytes.
        let handle = transport.begin(.direct(origin.url("/file"), idle: 3), receiver)
        for ceiling: Int64 in [12_345, 12_346, 1_000_000, 1_016_384, 7_777_777] {
            file.ceiling.value = ceiling
            handle.resumeWriting()
            try await eventually("position \(ceiling)") { file.position.value == ceiling }
        }
        try await passTime(.seconds(5), because: "Time paused on this side is not idle time.")
        #expect(file.position.value == 7_777_777)
        #expect(receiver.ends.isEmpty)
        file.ceiling.value = .max
        handle.resumeWriting()
        #expect(try await receiver.end().outcome == .complete)
        #expect(try file.matches(content))
    }

    @Test(arguments: [true, false])
    func `B4: A body stops at an end that was moved during the download`(isMovedBack: Bool) async throws {
        let origin = try origin()
        let file = try TestFile()
        file.ceiling.value = 2_000_000
        let end = ByteMeter(12_000_000)
        let receiver = Receiver { _ in
            var sink = file.sink(length: content.size)
            sink.end = end
            return .file(sink)
        }
        let transport = TestTransport()
        let handle = transport.begin(.direct(origin.url("/file")), receiver)
        try await eventually("the first bytes") { file.position.value == 2_000_000 }
        end.value = isMovedBack ? 1_000_001 : 12_000_001
        file.ceiling.value = .max
        handle.resumeWriting()
        #expect(try await receiver.end().outcome == .complete)
        // Bytes after an end that was moved back belong to the next part and remain in the file.
        #expect(isMovedBack ? file.position.value >= 2_000_000 : file.position.value == 12_000_001)
        #expect(file.position.value < content.size)
        #expect(try fileBytes(file.path).count == Int(file.position.value))
        #expect(try fileBytes(file.path) == content.bytes(0..<file.position.value))
    }

    @Test func `B4: A connection is reused after its response ended with the requested part`() async throws {
        let origin = try origin()
        let file = try TestFile()
        let transport = TestTransport()
        for part in [0, 1] as [Int64] {
            let range = part * 1_000_000..<(part + 1) * 1_000_000
            let request = WireRequest.direct(
                origin.url("/file"),
                headers: [HeaderField(name: "Range", value: "bytes=\(range.lowerBound)-\(range.upperBound - 1)")])
            let receiver = Receiver { _ in
                var sink = file.sink(offset: range.lowerBound, length: 1_000_000)
                sink.end = ByteMeter(range.upperBound)
                return .file(sink)
            }
            #expect(try await transport.end(request, receiver).outcome == .complete)
        }
        #expect(try fileBytes(file.path) == content.bytes(0..<2_000_000))
        #expect(origin.connectionCount == 1)
    }

    @Test func `T4: A connection is not reused after a large body, but is reused after a small body`() async throws {
        let origin = try origin()
        origin.serve("/small", .text("small"))
        let transport = TestTransport()
        for (path, connections) in [("/small", 1), ("/small", 1), ("/file", 1), ("/small", 2)] {
            let file = try TestFile()
            let end = try await transport.end(.direct(origin.url(path)), Receiver { _ in .file(file.sink()) })
            #expect(end.outcome == .complete)
            #expect(origin.connectionCount == connections)
            if path == "/file" { #expect(try file.matches(content)) }
        }
    }

    @Test func `T4: A large body can be written to a file that is opened for appending`() async throws {
        let origin = try origin()
        let file = try TestFile()
        let appending = open(file.path, O_WRONLY | O_APPEND | O_CLOEXEC)
        defer { close(appending) }
        var sink = file.sink(length: content.size)
        sink.descriptor = appending
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { [sink] _ in .file(sink) })
        #expect(end.outcome == .complete)
        #expect(try file.matches(content))
    }

    @Test func `A body longer than its announced length is a protocol error`() async throws {
        let origin = try origin(.chunked())
        let file = try TestFile()
        let end = try await TestTransport().end(
            .direct(origin.url("/file")), Receiver { _ in .file(file.sink(length: 1_000_001)) })
        #expect(end.failure?.code == .protocolError)
        #expect(file.position.value == 1_000_001)
    }

    @Test func `A write to a full disk causes a disk-full error`() async throws {
        let origin = try origin()
        let full = open("/dev/full", O_RDWR | O_CLOEXEC)
        defer { close(full) }
        let sink = FileSink(
            descriptor: full, offset: 0, length: nil, position: ByteMeter(), ceiling: ByteMeter(.max),
            end: ByteMeter(.max))
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .file(sink) })
        #expect(end.failure?.code == .diskFull)
        #expect(end.head?.status == 200)
    }

    @Test func `A write to a read-only descriptor causes an input/output error`() async throws {
        let origin = try origin()
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        let sink = FileSink(
            descriptor: null, offset: 0, length: nil, position: ByteMeter(), ceiling: ByteMeter(.max),
            end: ByteMeter(.max))
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .file(sink) })
        #expect(end.failure?.code == .inputOutput)
        #expect(end.failure?.message.contains("Bad file descriptor") == true)
    }

    @Test func `A body that exceeds the memory limit is written completely to a file`() async throws {
        let origin = try origin()
        let file = try TestFile()
        let receiver = Receiver { _ in .memory(limit: 100_000) { .success(file.sink()) } }
        let end = try await TestTransport().end(.direct(origin.url("/file")), receiver)
        #expect(end.outcome == .complete)
        #expect(end.body == [])
        #expect(end.receivedBytes == content.size && file.position.value == content.size)
        #expect(try file.matches(content))
    }

    @Test func `A body that fits neither in memory nor in a file fails`() async throws {
        let origin = try origin()
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .memory(limit: 100_000) })
        #expect(end.failure?.code == .tooLarge)
        let short = Receiver { _ in .memory(limit: 1 << 30) }
        #expect(try await TestTransport().end(.direct(origin.url("/file")), short).body.count == Int(content.size))
    }

    @Test func `The transport does not read a discarded body to its end`() async throws {
        let origin = try origin()
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .discard })
        #expect(end.outcome == .complete)
        #expect(end.receivedBytes < 2_000_000)
    }

    @Test func `A receiver can stop the exchange when the response head arrives`() async throws {
        let origin = try origin(.stallAfter(0))
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .stop })
        #expect(end.outcome == .cancelled)
        #expect(end.head?.status == 200)
    }

    @Test func `A response to HEAD has no body`() async throws {
        let origin = try origin()
        let end = try await TestTransport().end(.direct(origin.url("/file"), method: "HEAD"))
        #expect(end.outcome == .complete)
        #expect(end.head?.headers.first("Content-Length") == String(content.size))
        #expect(end.receivedBytes == 0)
    }

    @Test func `The transport supports URLs with literal IPv6 addresses`() async throws {
        let origin = try OriginServer(host: .ipv6)
        origin.serve("/", .text("six"))
        let end = try await TestTransport().end(.direct(origin.url("/")))
        #expect(end.body == Array("six".utf8))
    }

    // MARK: - Truncated bodies

    @Test(arguments: [true, false])
    func `A body that is cut off is reported as truncated`(isChunked: Bool) async throws {
        let origin = try isChunked ? origin(.chunked(), .cutAfter(5_000_000)) : origin(.cutAfter(5_000_000))
        let file = try TestFile()
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .file(file.sink()) })
        #expect(end.failure?.code == .truncated)
        #expect(end.receivedBytes == 5_000_000)
        #expect(end.head?.status == 200)
    }

    @Test func `A body without its last chunk counts as truncated`() async throws {
        let origin = try origin(.chunked(lastChunk: false))
        let file = try TestFile()
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .file(file.sink()) })
        #expect(end.failure?.code == .truncated)
    }

    @Test func `A connection reset is reported as a lost connection`() async throws {
        let origin = try origin(.resetAfter(1_000_000))
        let file = try TestFile()
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .file(file.sink()) })
        #expect(end.failure?.code == .connectionLost)
    }

    @Test func `A body without a length is complete when the connection closes`() async throws {
        let origin = try origin(.closeDelimited)
        let file = try TestFile()
        let end = try await TestTransport().end(.direct(origin.url("/file")), Receiver { _ in .file(file.sink()) })
        #expect(end.outcome == .complete)
        #expect(try file.matches(content))
    }

    // MARK: - Servers that misbehave

    @Test(arguments: [
        (Behaviour.closeBeforeHead, TransferFailure.Code.connectionLost),
        (.resetBeforeHead, .connectionLost),
        (.garbageStatusLine(), .protocolError),
        (.hugeHeader(70_000), .protocolError),
        (.hugeHeader(400_000), .protocolError),
        (.endlessHeader, .protocolError),
    ])
    func `A missing or malformed response head ends the exchange with an error`(
        behaviour: Behaviour, code: TransferFailure.Code
    ) async throws {
        let origin = try origin(behaviour)
        let receiver = Receiver()
        let end = try await TestTransport().end(.direct(origin.url("/file")), receiver)
        #expect(end.failure?.code == code, "\(end)")
        #expect(receiver.heads.isEmpty)
        #expect(end.failure?.isPermanent == false)
    }

    @Test func `The transport does not deliver interim responses as response heads`() async throws {
        let origin = try origin(.interimResponses([103, 103, 102]))
        let file = try TestFile()
        let receiver = Receiver { _ in .file(file.sink()) }
        #expect(try await TestTransport().end(.direct(origin.url("/file")), receiver).outcome == .complete)
        #expect(receiver.heads.map(\.status) == [200])
    }

    @Test(arguments: [
        (Behaviour.stallHead, "waiting for its response"), (.stallAfter(100_000), "in the middle of its response"),
        (.stallAfter(0), "in the middle of its response"),
    ])
    func `A stalled server ends the exchange after the idle timeout`(behaviour: Behaviour, phase: String) async throws {
        let origin = try origin(behaviour)
        let file = try TestFile()
        let (transport, patient) = (TestTransport(), Receiver())
        _ = transport.begin(.direct(origin.url("/file"), idle: 600), patient)
        let start = ContinuousClock.now
        // The timeout is longer than the origin needs to send its data before it falls silent.
        let end = try await transport.end(
            .direct(origin.url("/file"), idle: 3), Receiver { _ in .file(file.sink()) })
        #expect(end.failure?.code == .idleTimeout)
        #expect(end.failure?.message.contains(phase) == true, "\(end)")
        #expect(start.duration(to: .now) >= .seconds(3))
        #expect(patient.ends.isEmpty, "Each has a timeout of its own.")
    }

    @Test func `A slow response does not trigger the idle timeout`() async throws {
        let origin = try OriginServer()
        origin.serve("/", Resource.text(String(repeating: "x", count: 30), .slowDrip(bytesPerSecond: 6)))
        let end = try await TestTransport().end(.direct(origin.url("/"), idle: 3))
        #expect(end.outcome == .complete)
        #expect(end.receivedBytes == 30)
    }

    @Test func `A TLS handshake without a response triggers the idle timeout`() async throws {
        let proxy = try ChaosProxy(to: 9, conditions: ChaosProxy.Conditions(isBlackHole: true))
        let end = try await TestTransport().end(.direct("https://127.0.0.1:\(proxy.port)/", idle: 1))
        #expect(end.failure?.code == .idleTimeout)
        #expect(end.failure?.message.contains("secure connection") == true, "\(end)")
    }

    @Test func `Refused connections, unknown hosts and invalid URLs cause different errors`() async throws {
        let transport = TestTransport()
        let port = try freePort()
        let refused = try await transport.end(.direct("http://127.0.0.1:\(port)/?secret=x"))
        #expect(refused.failure?.code == .cannotConnect)
        #expect(refused.failure?.message == "No connection to 127.0.0.1:\(port): Connection refused.")
        let unknown = try await transport.end(.direct("http://host.invalid/"))
        #expect(unknown.failure?.code == .cannotResolveHost)
        #expect(unknown.failure?.message == "The address of host.invalid could not be found.")
        #expect(try await transport.end(.direct("ftp://127.0.0.1/")).failure?.code == .unsupportedURL)
        #expect(try await transport.end(.direct("http://[::1/")).failure?.code == .badURL)
        #expect(try await transport.end(.direct("http://user:pass@127.0.0.1:\(port)/")).failure?.code == .badURL)
        let split = WireRequest.direct(
            "http://127.0.0.1:\(port)/", headers: [HeaderField(name: "X", value: "a\r\nAuthorization: b")])
        #expect(try await transport.end(split).failure?.code == .badURL)
    }

    // MARK: - Cancelling

    @Test func `An exchange that is cancelled at any time ends exactly once`() async throws {
        let origin = try origin(.throttle(bytesPerSecond: 50_000_000))
        let transport = TestTransport()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let file = try TestFile()
                    let receiver = Receiver { _ in .file(file.sink()) }
                    let handle = transport.begin(.direct(origin.url("/file")), receiver)
                    try await passTime(
                        .milliseconds(number * 5), because: "The cancellation comes at any moment, not with an event.")
                    handle.cancel()
                    handle.cancel()
                    _ = try await receiver.end()
                    handle.cancel()
                    handle.resumeWriting()
                    handle.setRateLimit(1)
                    let ends = receiver.ends
                    #expect(ends.count == 1)
                    #expect(ends.allSatisfy { $0.outcome == .cancelled || $0.outcome == .complete })
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `A shutdown ends every exchange as cancelled`() async throws {
        let origin = try origin(.stallHead)
        let transport = TestTransport()
        let receivers = (0..<5).map { _ in Receiver() }
        for receiver in receivers { _ = transport.begin(.direct(origin.url("/file")), receiver) }
        transport.transport.shutdown()
        #expect(receivers.allSatisfy { $0.ends.map(\.outcome) == [.cancelled] })
    }
}
