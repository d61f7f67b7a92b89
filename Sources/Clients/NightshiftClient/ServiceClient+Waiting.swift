import Dispatch
package import Foundation
import NightshiftCurl
import Synchronization

extension ServiceClient {
    /// Sends a request and returns the response of the service. Blocks the thread until then.
    ///
    /// Throws like ``send(_:)``, and throws ``ServiceUnreachable`` if there is no response within `seconds`. This must
    /// not be called on libcurl's thread.
    package func wait<Answer>(for endpoint: Endpoint<Answer>, within seconds: Double = 60) throws -> Answer {
        try endpoint.answer(from: wait(for: try endpoint.encoded(), within: seconds))
    }

    /// Returns the body of a successful response, like ``wait(for:within:)``.
    package func wait(for encoded: EncodedRequest, within seconds: Double = 60) throws -> Data {
        let collector = Collector()
        var request = exchange(encoded)
        request.idleTimeout = max(Self.idleTimeout, seconds)
        let exchange = Self.loop.begin(request, delegate: collector)
        if collector.isDone.wait(timeout: .now() + seconds) == .timedOut {
            exchange.cancel()
            collector.isDone.wait()
        }
        let answer = collector.answer
        guard let head = answer.head, answer.end?.code == 0 else {
            let reason = answer.end.map { $0.wasCancelled ? "no response in \(seconds) s" : $0.message } ?? ""
            throw ServiceUnreachable(message: "The service does not respond, or closed the connection: \(reason)")
        }
        let data = Data(answer.body)
        try Self.requireGood(head, data)
        return data
    }
}

/// A delegate that collects one response.
private final class Collector: CurlDelegate {
    struct Answer: Sendable {
        var head: CurlHead?
        var body: [UInt8] = []
        var end: CurlEnd?
    }

    let isDone = DispatchSemaphore(value: 0)
    private let state = Mutex(Answer())

    var answer: Answer { state.withLock { $0 } }

    func received(interim head: CurlHead) {}

    func received(head: CurlHead) {
        state.withLock { $0.head = head }
    }

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        let bytes = [UInt8](body)
        state.withLock { $0.body += bytes }
        return .taken
    }

    func sent(_ bytes: Int64) {}

    func ended(_ end: CurlEnd) {
        state.withLock { $0.end = end }
        isDone.signal()
    }
}
