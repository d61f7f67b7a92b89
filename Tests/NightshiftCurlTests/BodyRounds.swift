import Foundation
import NightshiftCurl
import TestSupport

/// An exchange that a seed determines: the server's data and pieces, and the client's behaviour.
struct BodyRound: Sendable {
    let content: SeededContent
    /// The response up to the body.
    let head: [UInt8]
    /// The sizes of the pieces, beginning with the head. The last size applies to all later pieces.
    let pieces: [Int]
    /// The microseconds between two pieces.
    let pause: UInt32
    let socketBodyBytes: Int64
    let isAppended: Bool
    let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        var random = SplitMix64(seed: seed)
        func any(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        let size = [any(0...100), any(0...20_000), any(16_000...17_000), any(0...400_000)][any(0...3)]
        content = SeededContent(seed: seed, size: Int64(size))
        var text = ""
        for _ in 0..<max(0, any(-3...2)) { text += "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" }
        text += "HTTP/1.1 200 OK\r\nX-Padding: \(String(repeating: "x", count: any(0...3_000)))\r\n"
        text += "Content-Length: \(size)\r\n\r\n"
        head = Array(text.utf8)
        let largest = [3_000, 17_000, 40_000, 600_000][any(0...3)]
        pieces = (0..<any(1...40)).map { _ in any(1...largest) } + [any(largest / 4...largest)]
        pause = UInt32([0, 0, 100][any(0...2)])
        socketBodyBytes = [1, 1_000, 50_000][any(0...2)]
        isAppended = any(0...4) == 0
    }

    /// Returns the `count` bytes to send from position `start`.
    func bytes(from start: Int, _ count: Int) -> [UInt8] {
        let end = min(start + count, head.count + Int(content.size))
        guard start < end else { return [] }
        let body = Int64(max(start - head.count, 0))..<Int64(max(end - head.count, 0))
        return head[min(start, head.count)..<min(end, head.count)] + content.bytes(body)
    }
}

/// A server that answers each request for `/<seed>` with its ``BodyRound``, over connections that stay open.
final class BodyRoundServer: Sendable {
    private let server: ScriptedServer

    init() throws {
        server = try ScriptedServer([.serve { Self.serve($0) }])
    }

    var connectionCount: Int { server.connectionCount }

    func url(_ round: BodyRound) -> String { server.url("/\(round.seed)") }

    private static func serve(_ connection: Int32) {
        while let line = requestLine(connection) {
            guard let seed = UInt64(line.split(separator: " ")[1].dropFirst()) else { return }
            let round = BodyRound(seed: seed)
            var sent = 0
            var pieces = round.pieces[...]
            while true {
                let bytes = round.bytes(from: sent, pieces.first ?? 1)
                if bytes.isEmpty { break }
                guard ScriptedServer.send(bytes, on: connection) else { return }
                sent += bytes.count
                if pieces.count > 1 { pieces.removeFirst() }
                if round.pause > 0 {
                    blockThread(for: .microseconds(round.pause), because: "Pieces come at the moments of their round.")
                }
            }
        }
    }

    /// Reads a request's head; nil if the client has disconnected.
    private static func requestLine(_ connection: Int32) -> String? {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while head.suffix(4) != [13, 10, 13, 10] {
            guard recv(connection, &byte, 1, 0) == 1 else { return nil }
            head.append(byte)
        }
        return String(decoding: head.prefix { $0 != 13 }, as: UTF8.self)
    }
}

/// A delegate that writes a body to a file as its round specifies: in parts, with pauses, from memory and from the
/// socket. It is safe to share because only the loop's thread uses its state until the exchange has ended.
final class RoundReceiver: CurlDelegate, @unchecked Sendable {
    let ended = Watched<CurlEnd?>(nil)
    private(set) var movedBytes: Int64 = 0
    private let file: Int32
    private let loop: CurlLoop
    private var exchange: CurlExchange?
    private var position: Int64 = 0
    private var random: SplitMix64
    private let pausesOften: Bool

    init(_ round: BodyRound, path: String, loop: CurlLoop) {
        file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (round.isAppended ? O_APPEND : 0), 0o600)
        self.loop = loop
        random = SplitMix64(seed: round.seed &+ 1)
        pausesOften = round.seed % 3 == 0
    }

    deinit {
        close(file)
    }

    func begin(_ request: CurlRequest) {
        loop.perform { [self] in exchange = loop.begin(request, delegate: self) }
    }

    func received(interim head: CurlHead) {}

    func received(head: CurlHead) {}

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        if pauses() { return .pause }
        guard pwrite(file, body.baseAddress, body.count, Int(position)) == body.count else { return .stop }
        position += Int64(body.count)
        return .taken
    }

    func takesRest(_ bytes: Int64) -> Bool { true }

    func received(from body: CurlSocketBody, atMost count: Int) -> CurlBodyAnswer {
        if pauses() { return .pause }
        let move = body.move(
            to: file, at: position, atMost: min(count, Int.random(in: 1...100_000, using: &random)))
        position += Int64(move.bytes)
        movedBytes += Int64(move.bytes)
        return move.error == 0 ? .taken : .stop
    }

    func sent(_ bytes: Int64) {}

    func ended(_ end: CurlEnd) {
        ended.update { $0 = end }
    }

    private func pauses() -> Bool {
        guard pausesOften, Int.random(in: 0...2, using: &random) == 0 else { return false }
        loop.perform { [self] in exchange?.resume() }
        return true
    }
}
