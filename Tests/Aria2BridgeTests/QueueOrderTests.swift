import NightshiftAPI
import TestSupport
import Testing

@testable import Aria2Bridge

/// B7: The order of the queue of downloads.
@Suite struct QueueOrderTests {
    @Test func `Random moves give the order that was asked for, with priorities from 0.5 to 1`() {
        var generator = SplitMix64(seed: 7)
        var places = (1...20).map { QueueOrder.Place(id: TaskID($0), priority: QueueOrder.standard) }
        for _ in 0..<500 {
            let moved = places.remove(at: Int.random(in: places.indices, using: &generator))
            places.insert(moved, at: Int.random(in: 0...places.count, using: &generator))
            let wanted = places.map(\.id)
            let changes = QueueOrder.changes(for: places)
            for change in changes {
                guard let index = places.firstIndex(where: { $0.id == change.id }) else { continue }
                places[index] = change
            }
            places.sort { $0.isBefore($1) }
            #expect(places.map(\.id) == wanted)
            #expect(places.allSatisfy { (0.5...1).contains($0.priority) })
        }
    }

    @Test func `A move to the first place changes one priority`() {
        let places = [3, 1, 2].map { QueueOrder.Place(id: TaskID($0), priority: 0.5) }
        #expect(QueueOrder.changes(for: places).map(\.id) == [TaskID(3)])
    }

    @Test func `An order that holds already changes nothing`() {
        let places = (1...5).map { QueueOrder.Place(id: TaskID($0), priority: 0.5) }
        #expect(QueueOrder.changes(for: places).isEmpty)
    }
}
