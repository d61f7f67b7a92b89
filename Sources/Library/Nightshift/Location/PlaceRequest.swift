import Dispatch
import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// A manager's request for the location. The request reads a stream from the service. If the stream ends early, the
/// request opens the stream again.
///
/// Responses are delivered on the main queue.
final class PlaceRequest: Sendable {
    private let wanted: LocationUpdateRequest
    private let connection: ServiceConnection
    /// A serial queue whose work may wait for the service.
    private let queue: WorkQueue
    private let answer: @Sendable (PlaceRequest, LocationUpdate) -> Void
    private let state = Mutex(State())

    private struct State: Sendable {
        var reader: EventReader?
        var isOver = false
        var backoff = Backoff(.milliseconds(20)...(.seconds(5)))
    }

    /// The time limit for opening the app's channel to the service.
    private static let timeout: Duration = .seconds(15)

    /// Creates a request. ``start()`` opens its stream.
    ///
    /// - Parameter answer: A closure that is called on the main queue. If the request is for one location, the closure
    ///   is called once.
    init(
        _ wanted: LocationUpdateRequest, _ connection: ServiceConnection, _ queue: WorkQueue,
        answer: @escaping @Sendable (PlaceRequest, LocationUpdate) -> Void
    ) {
        self.wanted = wanted
        self.connection = connection
        self.queue = queue
        self.answer = answer
    }

    func start() {
        connection.wake()
        queue.add { [self] in open() }
    }

    /// Cancels the request. If you call this method on the main queue, no response is delivered afterwards.
    func cancel() {
        let reader = state.withLock { state in
            state.isOver = true
            return state.reader.take()
        }
        reader?.cancel()
    }

    /// Opens the stream when the service can be reached, for the first time or again.
    func onReconnect() {
        queue.add { [self] in open() }
    }

    /// Opens the stream. This method runs on ``queue``.
    private func open() {
        guard state.withLock({ !$0.isOver && $0.reader == nil }) else { return }
        let hello: ProcessHello
        do {
            hello = try connection.openChannel(until: .now + Self.timeout, hasty: true)
        } catch is ServiceUnreachable {
            // A request for one location fails now. Continuous updates wait until the service can be reached again.
            if wanted.isOnce { DispatchQueue.main.async { [self] in end(.unknown) } }
            return
        } catch {
            return
        }
        let reader = EventReader(
            client: connection.client.on(hello.channel), source: .locationUpdates(wanted),
            queue: DispatchQueue.main
        ) { [weak self] event in
            self?.receive(event)
        } onEnd: { [weak self] end in
            self?.ended(end)
        }
        let isOver = state.withLock { state in
            if !state.isOver { state.reader = reader }
            return state.isOver
        }
        if isOver { reader.cancel() }
    }

    private func receive(_ event: ServerSentEvent) {
        guard event.name == "update",
            let update = try? JSON.decodeKnown(LocationUpdate.self, from: Data(event.data.utf8))
        else { return }
        let isOver = state.withLock { state in
            state.backoff.reset()
            defer { if wanted.isOnce { state.isOver = true } }
            return state.isOver
        }
        if !isOver { answer(self, update) }
    }

    private func ended(_ end: EventReader.End) {
        let pause = state.withLock { state -> Duration? in
            state.reader = nil
            return state.isOver ? nil : state.backoff.nextPause()
        }
        guard let pause else { return }
        if case .refused(let problem) = end, !problem.isPassing {
            return self.end(problem.status == 403 ? .denied : .unknown)
        }
        queue.add(after: pause) { [weak self] in self?.open() }
    }

    /// Ends the request with a failure. This method must be called on the main queue.
    private func end(_ failure: LocationUpdate.Failure) {
        let wasOver = state.withLock { state in
            defer { state.isOver = true }
            return state.isOver
        }
        if !wasOver { answer(self, LocationUpdate(failure: failure)) }
    }
}
