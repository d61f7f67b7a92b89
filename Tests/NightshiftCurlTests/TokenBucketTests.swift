import NightshiftCurl
import Testing

@Suite struct TokenBucketTests {
    @Test(arguments: [1_000.0, 50_000, 10_000_000])
    func `A bucket keeps exactly to its rate in the long run`(rate: Double) {
        var bucket = TokenBucket(rate: rate, burst: rate / 4, now: 100)
        var now = 100.0
        var moved = 0
        while now < 110 {
            now += bucket.take(16_384, now: now)
            moved += 16_384
        }
        #expect(abs(Double(moved) - rate * (now - 100)) <= 16_384)
    }

    @Test func `A bucket saves no more than its burst`() {
        var bucket = TokenBucket(rate: 1_000, burst: 250, now: 0)
        #expect(bucket.take(250, now: 3_600) == 0)
        #expect(bucket.take(1, now: 3_600) == 0.001)
    }

    @Test func `A bucket starts empty and lets the first piece through`() {
        var bucket = TokenBucket(rate: 100, burst: 100, now: 5)
        #expect(bucket.delay(now: 5) == 0)
        #expect(bucket.take(50, now: 5) == 0.5)
        #expect(bucket.delay(now: 5.25) == 0.25)
        #expect(bucket.delay(now: 5.5) == 0)
    }

    @Test(
        arguments: [
            (0, 512), (1, 512), (5_120, 512), (2_097_152, 209_715), (1e18, 100_000_000_000_000_000),
            (.infinity, Int.max), (.nan, 512), (-1, 512),
        ] as [(Double, Int)])
    func `A piece is a tenth of a second of data, but at least 512 bytes`(rate: Double, piece: Int) {
        #expect(TokenBucket(rate: rate, burst: 0, now: 0).piece == piece)
    }

    @Test func `A clock that steps back yields no tokens`() {
        var bucket = TokenBucket(rate: 100, burst: 100, now: 5)
        bucket.take(100, now: 5)
        #expect(bucket.delay(now: 1) == 1)
        #expect(bucket.delay(now: 5) == 1)
    }
}
