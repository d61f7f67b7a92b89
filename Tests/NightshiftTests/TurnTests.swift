import Foundation
import NightshiftClient
import TestSupport
import Testing

@testable import Nightshift

/// Tests of threads that wait, one after the other, for a slow service.
@Suite struct TurnTests {
    @Test func `A thread whose wait times out leaves the queue, and the next thread gets the turn`() async throws {
        let turn = Turn()
        let (gate, heard) = (Gate(), Watched<[String]>([]))
        Thread.detachNewThread {
            try? turn.run(within: .seconds(60)) { _ in
                heard.update { $0.append("first") }
                _ = gate.block(until: .now + .seconds(60))
            }
        }
        try await heard.wait(for: "the first") { $0 == ["first"] }
        for timeout: Duration in [.zero, .milliseconds(1)] {
            #expect(throws: ServiceUnreachable.self) { try turn.run(within: timeout) { _ in } }
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

    @Test func `A thread that takes the turn repeatedly does not exclude other threads`() async throws {
        let (turn, isOver) = (Turn(), Watched(false))
        let rounds = Watched(0)
        Thread.detachNewThread {
            while !isOver.read({ $0 }) {
                try? turn.run(within: .seconds(60)) { _ in
                    rounds.update { $0 += 1 }
                    _ = isOver.block(until: .now + .milliseconds(1)) { $0 }
                }
            }
        }
        try await rounds.wait(for: "a few rounds") { $0 > 2 }
        Thread.detachNewThread { try? turn.run(within: .seconds(60)) { _ in isOver.update { $0 = true } } }
        try await isOver.wait(for: "the other thread") { $0 }
    }
}
