import PushRouting
import Synchronization

/// Limits the requests for each device token.
final class RequestRates: Sendable {
    /// Tokens that are counted; beyond, those are forgotten that have had nothing for long.
    private static let limit = 100_000

    private let settings: TokenBucket.Settings
    private let buckets = Mutex<[String: TokenBucket]>([:])

    init(_ settings: TokenBucket.Settings) {
        self.settings = settings
    }

    func take(_ token: String, now: Moment) -> Bool {
        wait(token, now: now) == nil
    }

    /// Takes one; where none is left, gives the seconds until there is.
    func wait(_ token: String, now: Moment) -> Double? {
        buckets.withLock { buckets in
            if buckets.count >= Self.limit {
                buckets = buckets.filter { !$0.value.isFull(settings, now: now.bootSeconds) }
                if buckets.count >= Self.limit { buckets = [:] }
            }
            var bucket = buckets[token] ?? TokenBucket(settings, now: now.bootSeconds)
            let passes = bucket.take(settings, now: now.bootSeconds)
            buckets[token] = bucket
            return passes ? nil : bucket.wait(settings, now: now.bootSeconds)
        }
    }
}
