import Testing

@testable import Executors

@Suite struct DeadlinesTests {
    @Test func `After random changes the next deadline and the due keys equal those of a full search`() {
        var random = SystemRandomNumberGenerator()
        var deadlines = Deadlines<Int>()
        var model: [Int: Double] = [:]
        for _ in 0..<4_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                let now = Double.random(in: 0...100, using: &random)
                let due = model.filter { $0.value <= now }
                let taken = deadlines.takeDue(now)
                #expect(Set(taken) == Set(due.keys) && taken.count == due.count)
                let times = taken.compactMap { due[$0] }
                #expect(times == times.sorted())
                for key in taken { model[key] = nil }
            case 1...2:
                let key = Int.random(in: 0..<50, using: &random)
                deadlines[key] = nil
                model[key] = nil
            default:
                let (key, deadline) = (
                    Int.random(in: 0..<50, using: &random), Double(Int.random(in: 0..<200, using: &random))
                )
                deadlines[key] = deadline
                model[key] = deadline
            }
            #expect(deadlines.next == model.values.min())
        }
    }
}
