import PushGateway
import Testing

@Suite struct PlaceTableTests {
    @Test func `R5: The oldest unauthenticated connection loses its slot when the table is full`() {
        var table = PlaceTable<Int>()
        for name in 0..<3 { #expect(table.enter(name, limit: 3) == .enters) }
        table.proved(0)
        #expect(table.enter(3, limit: 3) == .replaces(1))
        table.leave(2)
        #expect(table.enter(4, limit: 3) == .enters)
        #expect(table.enter(5, limit: 3) == .replaces(3))
        table.proved(4)
        table.proved(5)
        #expect(table.enter(6, limit: 3) == .refused)
        #expect(table.open == [0, 4, 5])
    }

    @Test func `R5: The age of a name in the table is that of its latest connection`() {
        var table = PlaceTable<Int>()
        _ = table.enter(1, limit: 2)
        table.leave(1)
        _ = table.enter(2, limit: 2)
        _ = table.enter(1, limit: 2)
        #expect(table.enter(3, limit: 2) == .replaces(2))
    }

    @Test func `R5: The slot table agrees with a simple list on random input`() {
        var random = SystemRandomNumberGenerator()
        var table = PlaceTable<Int>()
        var (open, strangers): (Set<Int>, [Int]) = ([], [])
        for step in 0..<20_000 {
            let name = Int.random(in: 0..<60, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where !open.contains(name):
                var expected = PlaceTable<Int>.Entry.enters
                if open.count >= 20 {
                    expected = strangers.first.map { .replaces($0) } ?? .refused
                    if let oldest = strangers.first { open.remove(oldest) }
                    strangers = Array(strangers.dropFirst())
                }
                #expect(table.enter(name, limit: 20) == expected, "step \(step)")
                if expected != .refused {
                    open.insert(name)
                    strangers.append(name)
                }
            case 1:
                table.proved(name)
                strangers.removeAll { $0 == name }
            default:
                table.leave(name)
                open.remove(name)
                strangers.removeAll { $0 == name }
            }
            #expect(table.open == open, "step \(step)")
        }
    }

    @Test func `R5: The slot table reports once that it has shrunk after many connections ended`() {
        var table = PlaceTable<Int>()
        let many = PlaceTable<Int>.shrinkage
        for name in 0...many { _ = table.enter(name, limit: .max) }
        #expect(table.hasShrunk() == false)
        for name in 0..<(many - 1) { table.leave(name) }
        #expect(table.hasShrunk() == false)
        table.leave(many)
        #expect(table.hasShrunk() == true)
        #expect(table.hasShrunk() == false)
    }
}
