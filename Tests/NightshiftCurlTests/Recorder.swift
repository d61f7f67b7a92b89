import NightshiftCurl
import TestSupport

/// A delegate that records all events of an exchange.
final class Recorder: CurlDelegate {
    struct Heard: Sendable {
        var interim: [Int] = []
        var heads: [CurlHead] = []
        var body: [UInt8] = []
        var sent: [Int64] = []
        var ends: [CurlEnd] = []
    }

    let heard = Watched(Heard())

    func received(interim head: CurlHead) { heard.update { $0.interim.append(head.status) } }

    func received(head: CurlHead) { heard.update { $0.heads.append(head) } }

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        heard.update { $0.body += body }
        return .taken
    }

    func sent(_ bytes: Int64) { heard.update { $0.sent.append(bytes) } }

    func ended(_ end: CurlEnd) { heard.update { $0.ends.append(end) } }

    func end(within bound: Duration = .seconds(20)) async throws -> CurlEnd {
        try await heard.wait(within: bound, for: "the exchange's end") { !$0.ends.isEmpty }
        return heard.read { $0.ends[0] }
    }
}
