import Testing
import Yielding

@Suite struct YieldDivisionTests {
    struct Case: Sendable {
        var window: Double
        var connections: Int
        var active: Int
        var each: Int
        var pace: Double?
    }

    @Test(
        "B9: Connections share one window, and some of them stop if it is too small for all",
        arguments: [
            Case(window: 100_000, connections: 1, active: 1, each: 100_000),
            Case(window: 100_000, connections: 8, active: 8, each: 12_500),
            Case(window: 10_000, connections: 8, active: 5, each: 2_000),
            Case(window: 2_000, connections: 8, active: 1, each: 2_000),
            // Less than two segments of 1,000 bytes in a round trip of 0.1 s.
            Case(window: 1_500, connections: 1, active: 1, each: 2_000, pace: 15_000),
        ])
    func division(_ expected: Case) {
        let division = YieldDivision(
            window: expected.window, roundTrip: 0.1, segment: 1_000, connections: expected.connections)
        #expect(division.active == expected.active && division.window == expected.each)
        #expect(division.pace == expected.pace)
    }

    @Test func `B9: Each connection has its turn, and as many are active as may be`() {
        for (active, connections) in [(1, 8), (3, 8), (5, 8), (7, 8), (8, 8), (1, 1)] {
            let division = YieldDivision(
                window: Double(active) * 2_000, roundTrip: 0.1, segment: 1_000, connections: connections)
            var turns = Array(repeating: 0, count: connections)
            for step in 0..<200 {
                let now = Double(step) * YieldDivision.turn + 0.5
                let chosen = (0..<connections).filter { division.isActive($0, of: connections, at: now) }
                #expect(chosen.count == active)
                for index in chosen { turns[index] += 1 }
            }
            #expect(turns.allSatisfy { $0 >= 200 * active / connections - connections }, "\(turns)")
        }
    }
}
