import Testing

@testable import Executors

@Suite struct FifoTests {
    @Test func `After random changes a queue has the elements of an array`() {
        var random = SystemRandomNumberGenerator()
        var queue = Fifo<Int>()
        var model: [Int] = []
        for number in 0..<20_000 {
            // The queue grows for a while and is then emptied.
            if Int.random(in: 0..<10, using: &random) < (number / 2_000 % 2 == 0 ? 7 : 2) {
                queue.append(number)
                model.append(number)
            } else {
                let expected = model.isEmpty ? nil : model.removeFirst()
                #expect(queue.popFirst() == expected)
            }
        }
    }
}
