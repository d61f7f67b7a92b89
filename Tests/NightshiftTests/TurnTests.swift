import Foundation
import NightshiftClient
import TestSupport
import Testing

@testable import Nightshift

/// Threads that wait for a service that is slow, one behind the other.
@Suite struct TurnTests {
    @Test func `Who waits no longer for the turn goes without it, and who waits has it next`() async throws {
        let turn = Turn()
        let (gate, heard) = (Gate(), Watched<[String]>([]))
        Thread.detachNewThread {
            try? turn.run(within: .seconds(60)) { _ in
                heard.update { $0.append("first") }
                _ = gate.block(until: .now + .seconds(60))
            }
        }
        try await heard.wait(for: "the first") { $0 == ["first"] }
        for patience: Duration in [.zero, .milliseconds(1)] {
            #expect(throws: ServiceUnreachable.self) { try turn.run(within: patience) { _ in } }
        }
        Thread.detachNewThread {
            try? turn.run(within: .seconds(60)) { left in
                heard.update { $0.append(left > .zero ? "second" : "too late") }
            }
        }
        gate.open()
        try await heard.wait(for: "the second") { $0 == ["first", "second"] }
        #expect(try turn.run(within: .seconds(60)) { _ in 7 } == 7)
    }
}
