import Foundation
import NightshiftCurl
import TestSupport
import Testing

/// Tests of bodies that move from the socket to a file without libcurl.
@Suite(.timeLimit(.minutes(20))) struct SocketBodyTests {
    private static let size = 3_000_000
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"

    @Test func `T4: Every byte arrives, however head and body are split`() async throws {
        let seed = UInt64.random(in: 1 << 32...1 << 48)
        let server = try BodyRoundServer()
        let directory = try TemporaryDirectory()
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let moved = try await withThrowingTaskGroup(of: Int.self) { group in
            for lane in 0..<4 {
                group.addTask {
                    var moved = 0
                    for number in 0..<250 {
                        let round = BodyRound(seed: seed + UInt64(lane * 250 + number))
                        let path = directory.path("\(round.seed)")
                        let receiver = RoundReceiver(round, path: path, loop: loop)
                        receiver.begin(request(server.url(round)) { $0.socketBodyBytes = round.socketBodyBytes })
                        try await receiver.ended.wait(for: "the end of \(round.seed)") {
                            $0 != nil
                        }
                        #expect(receiver.ended.read { $0?.code } == 0, "\(round.seed)")
                        #expect(try round.content.firstMismatch(inFileAt: path) == nil, "\(round.seed)")
                        unlink(path)
                        if receiver.movedBytes > 0 { moved += 1 }
                    }
                    return moved
                }
            }
            return try await group.reduce(0, +)
        }
        // Without this, the test would prove nothing.
        #expect(moved > 100, "\(seed)")
        #expect(server.connectionCount < 1_000)
    }

    @Test func `T8: The transport distinguishes a truncated body from a complete one`() async throws {
        let loop = CurlLoop()
        defer { loop.shutdown() }
        for (code, error) in [(18, 0), (56, ECONNRESET)] as [(Int32, Int32)] {
            let mayEnd = Watched(false)
            let script: [ScriptedServer.Step] = [
                .read, .write(Self.head), .writeBytes(2_000_000), .hold(mayEnd), .writeBytes(5),
            ]
            let server = try ScriptedServer(script + (error == ECONNRESET ? [.reset] : []))
            let file = try MovedFile()
            _ = loop.begin(request(server.url()) { $0.socketBodyBytes = 1_000 }, delegate: file)
            // A reset discards data that has not been read.
            try await eventually("the bytes") { try fileBytes(file.path).count == 2_000_000 }
            mayEnd.update { $0 = true }
            let end = try await file.end()
            #expect(end.code == code, "\(end)")
            #expect(end.systemError == error)
            #expect(end.phase == .receiving)
            #expect(file.movedBytes > 0)
            if code == 18 { #expect(try fileBytes(file.path).count == 2_000_005) }
        }
    }

    @Test func `T8: A stalled body ends after the idle timeout, unless the client has paused the body`() async throws {
        let server = try ScriptedServer([.read, .write(Self.head), .writeBytes(1_000_005), .stall])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let held = try MovedFile(holdsAt: 900_000)
        let (free, patient) = (try MovedFile(), try MovedFile())
        // The timeout is longer than the server takes to send its data, even on a very busy machine.
        let wanted = request(server.url(), idle: 3) { $0.socketBodyBytes = 1_000 }
        let exchange = loop.begin(wanted, delegate: held)
        try await eventually("the bytes that it takes") { try fileBytes(held.path).count == 900_000 }
        _ = loop.begin(request(server.url(), idle: 600) { $0.socketBodyBytes = 1_000 }, delegate: patient)
        // When this exchange ends, the paused one has been paused for longer than the timeout.
        _ = loop.begin(wanted, delegate: free)
        #expect(try await free.end().code == 28)
        #expect(patient.ended.read { $0 == nil })
        #expect(try fileBytes(free.path).count == 1_000_005)
        #expect(held.ended.read { $0 == nil })
        #expect(try fileBytes(held.path).count == 900_000)
        exchange.cancel()
        #expect(try await held.end().wasCancelled)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1e8480\r\n", "HTTP/1.1 200 OK\r\n\r\n",
    ])
    func `T4: The transport leaves only a body of known length in its socket`(head: String) async throws {
        let hasFirst = Watched(false)
        let server = try ScriptedServer([
            .read, .write(head), .writeBytes(1_000_000), .hold(hasFirst), .writeBytes(1_000_000),
            .write("\r\n0\r\n\r\n"),
        ])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let file = try MovedFile()
        _ = loop.begin(request(server.url()) { $0.socketBodyBytes = 1_000 }, delegate: file)
        // The remaining data does not arrive together with the first data.
        try await eventually("the first bytes") { try fileBytes(file.path).count >= 1_000_000 }
        hasFirst.update { $0 = true }
        #expect(try await file.end().code == 0)
        #expect(file.movedBytes == 0)
        #expect(try fileBytes(file.path).count >= 2_000_000)
    }

    @Test func `T4: The exchange reports the reason if its file accepts no data`() async throws {
        let server = try ScriptedServer([.read, .write(Self.head), .writeBytes(Self.size)])
        let loop = CurlLoop()
        defer { loop.shutdown() }
        let file = try MovedFile(writingTo: "/dev/full")
        _ = loop.begin(request(server.url()) { $0.socketBodyBytes = 1_000 }, delegate: file)
        #expect(try await file.end().code == 23)
        #expect(file.error == ENOSPC)
    }

    @Test func `T4: Every end of the exchange also ends its connection`() async throws {
        let gone = Watched(0)
        let server = try ScriptedServer([
            .read, .write(Self.head), .writeBytes(1_000_000), .stall, .serve { _ in gone.update { $0 += 1 } },
        ])
        let loop = CurlLoop()
        let files = try (0..<2).map { _ in try MovedFile() }
        let exchanges = files.map { file in
            loop.begin(request(server.url(), idle: nil) { $0.socketBodyBytes = 1_000 }, delegate: file)
        }
        for file in files { try await eventually("the bytes") { try fileBytes(file.path).count == 1_000_000 } }
        exchanges[0].cancel()
        #expect(try await files[0].end().wasCancelled)
        try await gone.wait(for: "the server's notice") { $0 == 1 }
        loop.shutdown()
        #expect(files[1].ended.read { $0?.wasCancelled } == true)
        try await gone.wait(for: "the server's notice") { $0 == 2 }
    }

    private func request(
        _ url: String, idle: Double? = 600, _ change: (inout CurlRequest) -> Void
    ) -> CurlRequest {
        var request = CurlRequest(url: url)
        request.proxy = ""
        request.idleTimeout = idle
        change(&request)
        return request
    }
}

/// A delegate that writes the first piece of a body from memory, and the rest from the socket if the loop offers it. It
/// is safe to share because only the loop's thread uses its state until the exchange has ended.
private final class MovedFile: CurlDelegate, @unchecked Sendable {
    let path: String
    let ended = Watched<CurlEnd?>(nil)
    private(set) var movedBytes: Int64 = 0
    private(set) var error: Int32 = 0
    private let directory: TemporaryDirectory
    private let descriptor: Int32
    private let limit: Int64
    private let isDevice: Bool
    private var position: Int64 = 0

    init(holdsAt limit: Int64 = .max, writingTo device: String? = nil) throws {
        directory = try TemporaryDirectory()
        path = directory.path("file")
        descriptor = open(device ?? path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        self.limit = limit
        isDevice = device != nil
    }

    deinit {
        close(descriptor)
    }

    func end() async throws -> CurlEnd {
        try await ended.wait(for: "the exchange's end") { $0 != nil }
        return try #require(ended.read { $0 })
    }

    func received(interim head: CurlHead) {}

    func received(head: CurlHead) {}

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        if !isDevice, pwrite(descriptor, body.baseAddress, body.count, Int(position)) != body.count { return .stop }
        position += Int64(body.count)
        return .taken
    }

    func takesRest(_ bytes: Int64) -> Bool { true }

    func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer {
        guard position < limit else { return .pause }
        let move = body.move(to: descriptor, at: position, atMost: Int(min(Int64(count), limit - position)))
        position += Int64(move.bytes)
        movedBytes += Int64(move.bytes)
        error = move.error
        return move.error == 0 ? .taken : .stop
    }

    func sent(_ bytes: Int64) {}

    func ended(_ end: CurlEnd) {
        ended.update { $0 = end }
    }
}
