import Foundation
import HTTPTypes
import NIOCore
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct IdleTests {
    /// The test runs in its own process, so that only the server runs. It does not count timers that existed before the
    /// server: libdispatch checks its threads every second in every process that uses it.
    @Test func `An idle server does not wake up`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            blockThread(for: .seconds(2), because: "What ticks does so every second.")
            let foreign = Set(ThreadActivity.read().keys)
            let events = Route(.get, "/events") { call in
                try EventStream.response(
                    to: call.request, events: AsyncStream<ServiceEvent> { _ in }, place: try EventStreams().enter())
            }
            var limits = ConnectionLimits()
            limits.idleTimeout = .seconds(1)
            try await withServer(routes: [.hello, events], limits: limits) { server in
                _ = try await server.request("GET", "/hello")
                let reader = try server.client()
                try await reader.send(UnixClient.head("GET", "/events"))
                _ = try await reader.receive(through: ": connected")
                // This waits until the only timer is over, which is the timeout of the last request.
                try ThreadActivity.blockUntilAsleep(for: .seconds(2), besides: foreign)
                let before = ThreadActivity.read(besides: foreign)
                blockThread(for: .seconds(3), because: "That nobody wakes is seen only over time.")
                let awake = ThreadActivity.read(besides: foreign).filter { $0.value != before[$0.key] }
                    .map { "\($0.key) \($0.value.name)" }
                // This checks the measurement itself: a request must be visible on the thread of the sockets.
                let silent = ThreadActivity.read(besides: foreign)
                _ = try await server.request("GET", "/hello")
                let after = ThreadActivity.read(besides: foreign)
                guard after.contains(where: { $0.value.name.hasPrefix("NIO-ELT") && $0.value != silent[$0.key] }) else {
                    exit(1)
                }
                FileHandle.standardError.write(Data(awake.joined(separator: ", ").utf8))
            }
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors == "")
    }
}
