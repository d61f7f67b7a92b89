import NightshiftCurl
import Testing

@Suite struct TurnQueueTests {
    /// Returns the bytes that each of `count` exchanges has moved after ten seconds, if each uses its turns at once.
    private func moved(_ count: Int, rate: Int64, piece: Int = 16_384) -> [Int] {
        var queue = TurnQueue<Int>()
        queue.setRate(rate, now: 0)
        var moved = Array(repeating: 0, count: count)
        var left = moved
        var now = 0.0
        for ticket in 0..<count { _ = queue.wait(ticket, now: now) }
        while let next = queue.nextTurn(now: now) {
            now = max(next, now)
            if now > 10 { break }
            let turns = queue.turns(now: now)
            for ticket in turns.tickets {
                left[ticket] += turns.bytes
                while left[ticket] > 0 {
                    left[ticket] -= piece
                    moved[ticket] += piece
                }
                _ = queue.wait(ticket, now: now)
            }
        }
        return moved
    }

    @Test(arguments: [1, 4, 33], [200_000, 10_000_000, 400_000_000] as [Int64])
    func `T3: All exchanges together use the rate limit in equal shares`(count: Int, rate: Int64) {
        let moved = moved(count, rate: rate)
        let sum = Double(moved.reduce(0, +))
        // The queue gives the last turn on credit.
        let turn = Double(rate) * 0.04 + Double(count) * 16_384
        #expect(abs(sum - Double(rate) * 10) <= turn, "\(sum)")
        for bytes in moved { #expect(abs(Double(bytes) - sum / Double(count)) <= turn / Double(count) + 32_768) }
    }

    @Test func `T3: Exchanges get their turns in the order of waiting`() {
        var queue = TurnQueue<String>()
        queue.setRate(16_384, now: 0)
        for ticket in ["a", "b", "c", "d"] { _ = queue.wait(ticket, now: 0) }
        queue.leave("c")
        #expect(queue.turns(now: 0).tickets == ["a"])
        #expect(queue.turns(now: 0.9).tickets == [])
        #expect(queue.turns(now: 1).tickets == ["b"])
        #expect(queue.turns(now: 2).tickets == ["d"])
        #expect(queue.nextTurn(now: 2) == nil)
    }

    @Test func `T3: Other exchanges can use the unused bytes of a turn`() {
        var queue = TurnQueue<Int>()
        queue.setRate(16_384, now: 0)
        for ticket in 0..<2 { _ = queue.wait(ticket, now: 0) }
        #expect(queue.turns(now: 0).tickets == [0])
        queue.giveBack(16_384, now: 0)
        #expect(queue.turns(now: 0).tickets == [1])
    }

    @Test func `T3: Exchanges do not wait without a rate limit`() {
        var queue = TurnQueue<Int>()
        queue.setRate(1, now: 0)
        _ = queue.wait(0, now: 0)
        queue.setRate(nil, now: 0)
        #expect(queue.nextTurn(now: 0) == nil)
        #expect(queue.turns(now: 100).tickets == [])
    }
}
