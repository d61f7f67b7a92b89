import Foundation
import NightshiftCurl

/// The events of one connection. They are read only as fast as the consumer requests them.
package struct ServiceEvents: AsyncSequence {
    package typealias Element = ServerSentEvent

    let client: ServiceClient
    let source: EventSource
    let lastEventID: Int64

    package func makeAsyncIterator() -> Iterator { Iterator(events: self) }

    package struct Iterator: AsyncIteratorProtocol {
        let events: ServiceEvents
        private var stream: CurlStream?
        private var parser = ServerSentEventParser()
        /// The complete events that the consumer has not requested yet, in reverse order.
        private var waiting: [ServerSentEvent] = []

        init(events: ServiceEvents) {
            self.events = events
        }

        package mutating func next() async throws -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        package mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            while true {
                if let event = waiting.popLast() { return event }
                guard let bytes = try await bytes(isolation: actor) else { return nil }
                waiting = parser.feed(bytes).reversed()
            }
        }

        /// Connects, unless a connection is already open. Returns when the service has sent the response head. The
        /// first event may arrive much later.
        package mutating func open(isolation actor: isolated (any Actor)? = #isolation) async throws {
            if stream == nil { stream = try await events.client.stream(events.source, lastEventID: events.lastEventID) }
        }

        private mutating func bytes(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            try await open(isolation: actor)
            do {
                return try await stream?.next(isolation: actor)
            } catch {
                throw ServiceClient.failure(error)
            }
        }
    }
}
