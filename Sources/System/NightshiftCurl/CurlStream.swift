import CNightshift
import Synchronization

/// A response whose body is read as it arrives. If the reader stops reading, the server has to wait, so memory does not
/// grow.
///
/// A stream supports one reader. Releasing the stream or cancelling the reading task ends the exchange.
package final class CurlStream: AsyncSequence, AsyncIteratorProtocol, Sendable {
    package let head: CurlHead
    private let buffer: StreamBuffer
    private let exchange: CurlExchange

    fileprivate init(head: CurlHead, buffer: StreamBuffer, exchange: CurlExchange) {
        self.head = head
        self.buffer = buffer
        self.exchange = exchange
    }

    deinit {
        exchange.cancel()
    }

    package func makeAsyncIterator() -> CurlStream { self }

    /// Returns all bytes that arrived since the last call, or nil at the end of a complete body. Throws ``CurlEnd``.
    package func next() async throws -> [UInt8]? {
        try await next(isolation: #isolation)
    }

    package func next(isolation actor: isolated (any Actor)?) async throws(CurlEnd) -> [UInt8]? {
        let step = await buffer.next(of: exchange)
        if step.wasFull { exchange.resume() }
        if !step.bytes.isEmpty { return step.bytes }
        if let end = step.end, end.code != 0 { throw end }
        return nil
    }
}

/// A response with its complete body in memory.
package struct CurlResponse: Sendable {
    package var head: CurlHead
    package var body: [UInt8]
}

extension CurlLoop {
    /// Sends a request and returns when the head of the response has arrived. Throws ``CurlEnd``.
    ///
    /// - Parameter bufferLimit: The maximum number of bytes buffered for a slow reader.
    package func stream(_ request: CurlRequest, bufferLimit: Int = 262_144) async throws(CurlEnd) -> CurlStream {
        let buffer = StreamBuffer(limit: bufferLimit)
        let exchange = begin(request, delegate: buffer)
        let step = await buffer.head(of: exchange)
        guard let head = step.head else { throw step.end ?? .cancelled }
        return CurlStream(head: head, buffer: buffer, exchange: exchange)
    }

    /// Sends a request and returns the complete response. Throws ``CurlEnd``. Its code is 63 if the body is larger than
    /// `bodyLimit`.
    package func send(_ request: CurlRequest, bodyLimit: Int = 16 << 20) async throws(CurlEnd) -> CurlResponse {
        let stream = try await stream(request)
        var body: [UInt8] = []
        while let bytes = try await stream.next(isolation: #isolation) {
            guard body.count + bytes.count <= bodyLimit else {
                throw CurlEnd(
                    code: Int32(CURLE_FILESIZE_EXCEEDED.rawValue),
                    message: "The response is larger than \(bodyLimit) bytes.", phase: .receiving)
            }
            body += bytes
        }
        return CurlResponse(head: stream.head, body: body)
    }
}

/// A buffer that passes a response from the loop's thread to one reading task.
private final class StreamBuffer: CurlDelegate {
    private let limit: Int
    private let state = Mutex(State())

    private struct State: Sendable {
        var head: CurlHead?
        var bytes: [UInt8] = []
        var isFull = false
        var end: CurlEnd?
        var waiter: Waiter?

        /// Returns the next step for the waiter, or nil if the waiter must keep waiting.
        mutating func takeStep(for wish: Waiter.Wish) -> Step? {
            switch wish {
            case .head:
                return head != nil || end != nil ? Step(head: head, end: end) : nil
            case .bytes:
                guard !bytes.isEmpty || end != nil else { return nil }
                defer {
                    bytes = []
                    isFull = false
                }
                return Step(bytes: bytes, wasFull: isFull, end: end)
            }
        }
    }

    struct Step: Sendable {
        var head: CurlHead?
        var bytes: [UInt8] = []
        var wasFull = false
        var end: CurlEnd?
    }

    private struct Waiter: Sendable {
        enum Wish: Sendable { case head, bytes }
        var wish: Wish
        var continuation: CheckedContinuation<Step, Never>
    }

    init(limit: Int) {
        self.limit = limit
    }

    func head(of exchange: CurlExchange) async -> Step { await wait(for: .head, of: exchange) }

    func next(of exchange: CurlExchange) async -> Step { await wait(for: .bytes, of: exchange) }

    private func wait(for wish: Waiter.Wish, of exchange: CurlExchange) async -> Step {
        // Cancelling ends the exchange, which in turn ends the wait.
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let step = state.withLock { state -> Step? in
                    if let step = state.takeStep(for: wish) { return step }
                    precondition(state.waiter == nil, "A stream supports only one reader.")
                    state.waiter = Waiter(wish: wish, continuation: continuation)
                    return nil
                }
                if let step { continuation.resume(returning: step) }
            }
        } onCancel: {
            exchange.cancel()
        }
    }

    private func change<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, waiter, step) = state.withLock { state -> (Result, Waiter?, Step?) in
            let result = change(&state)
            guard let waiter = state.waiter, let step = state.takeStep(for: waiter.wish) else {
                return (result, nil, nil)
            }
            state.waiter = nil
            return (result, waiter, step)
        }
        if let waiter, let step { waiter.continuation.resume(returning: step) }
        return result
    }

    // MARK: - CurlDelegate

    func received(interim head: CurlHead) {}

    func received(head: CurlHead) {
        change { $0.head = head }
    }

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        change { state in
            guard state.bytes.isEmpty || state.bytes.count + body.count <= limit else {
                state.isFull = true
                return .pause
            }
            state.bytes.append(contentsOf: body)
            return .taken
        }
    }

    func sent(_ bytes: Int64) {}

    func ended(_ end: CurlEnd) {
        change { $0.end = end }
    }
}
