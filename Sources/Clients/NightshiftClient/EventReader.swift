package import Dispatch
import Foundation
package import NightshiftAPI
import NightshiftCurl
import Synchronization

/// A serial queue of calls.
package protocol CallQueue: Sendable {
    /// Adds a call, and returns immediately.
    func add(_ body: @escaping @Sendable () -> Void)
}

extension DispatchQueue: CallQueue {
    package func add(_ body: @escaping @Sendable () -> Void) {
        async(execute: body)
    }
}

/// A reader of one event stream of the service. It passes each event to a serial queue.
///
/// A slow handler delays the stream, but the memory use does not grow: while ``mostWaiting`` events are on the queue,
/// the reader does not read from the socket.
package final class EventReader: Sendable {
    /// The reason why a stream ended.
    package enum End: Sendable {
        /// The service ended the stream, or the connection broke.
        case closed
        case refused(Problem)
        case cancelled
    }

    private let core: Core

    /// Connects immediately.
    ///
    /// - Parameters:
    ///   - queue: A serial queue on which both closures are called. `onEnd` is called last and exactly once.
    package init(
        client: ServiceClient, source: EventSource,
        queue: any CallQueue,
        onEvent: @escaping @Sendable (ServerSentEvent) -> Void, onEnd: @escaping @Sendable (End) -> Void
    ) {
        core = Core(queue: queue, onEvent: onEvent, onEnd: onEnd)
        core.begin(client.request(source, lastEventID: 0))
    }

    deinit {
        core.cancel()
    }

    /// Stops passing events to the queue, and calls `onEnd`.
    package func cancel() {
        core.cancel()
    }

    /// The number of events on the queue at which reading pauses. The queue may hold more, because each received piece
    /// of the stream is parsed completely.
    fileprivate static let mostWaiting = 64
}

/// The state of the reader. The exchange retains this object until the exchange has ended, so that the reader itself
/// can be released earlier.
private final class Core: CurlDelegate {
    private let queue: any CallQueue
    private let onEvent: @Sendable (ServerSentEvent) -> Void
    private let onEnd: @Sendable (EventReader.End) -> Void
    private let state = Mutex(State())

    private struct State: Sendable {
        var exchange: CurlExchange?
        var parser = ServerSentEventParser()
        var head: CurlHead?
        /// The bytes of the body if the response is not an event stream.
        var body: [UInt8] = []
        var waiting = 0
        var isPaused = false
        var isCancelled = false
    }

    init(
        queue: any CallQueue,
        onEvent: @escaping @Sendable (ServerSentEvent) -> Void,
        onEnd: @escaping @Sendable (EventReader.End) -> Void
    ) {
        self.queue = queue
        self.onEvent = onEvent
        self.onEnd = onEnd
    }

    func begin(_ request: CurlRequest) {
        // The lock is held so that no event can use the exchange before it is stored.
        state.withLock { $0.exchange = ServiceClient.loop.begin(request, delegate: self) }
    }

    func cancel() {
        let exchange = state.withLock { state in
            state.isCancelled = true
            return state.exchange
        }
        exchange?.cancel()
    }

    func received(interim head: CurlHead) {}

    func received(head: CurlHead) {
        state.withLock { $0.head = head }
    }

    func received(body: UnsafeRawBufferPointer) -> CurlBodyAnswer {
        let events: [ServerSentEvent]? = state.withLock { state in
            guard state.head?.status == 200 else {
                state.body += body
                return []
            }
            guard state.waiting < EventReader.mostWaiting else {
                state.isPaused = true
                return nil
            }
            let events = state.parser.feed(body)
            state.waiting += events.count
            return events
        }
        guard let events else { return .pause }
        for event in events {
            queue.add { [self] in
                if !state.withLock(\.isCancelled) { onEvent(event) }
                eventHandled()
            }
        }
        return .taken
    }

    private func eventHandled() {
        let exchange = state.withLock { state -> CurlExchange? in
            state.waiting -= 1
            guard state.isPaused, state.waiting < EventReader.mostWaiting / 2 else { return nil }
            state.isPaused = false
            return state.exchange
        }
        exchange?.resume()
    }

    func sent(_ bytes: Int64) {}

    func ended(_ end: CurlEnd) {
        let result = state.withLock { state -> EventReader.End in
            state.exchange = nil
            if state.isCancelled { return .cancelled }
            guard let head = state.head, head.status != 200 else { return .closed }
            let problem = try? JSON.decodeKnown(Problem.self, from: Data(state.body))
            return .refused(
                problem
                    ?? Problem(
                        type: "about:blank", title: "The service did not send events (HTTP \(head.status))",
                        status: head.status))
        }
        queue.add { [onEnd] in onEnd(result) }
    }
}
