import PushRouting
import Synchronization

/// The rate limits on requests, one for each device token.
final class RequestRates: Sendable {
    /// The maximum number of token buckets. At this number, full buckets are discarded.
    private static let limit = 100_000

    private let settings: TokenBucket.Settings
    private let buckets = Mutex<[String: TokenBucket]>([:])

    init(_ settings: TokenBucket.Settings) {
        self.settings = settings
    }

    func take(_ token: String, now: RouteTime) -> Bool {
        wait(token, now: now) == nil
    }

    /// Counts one request against the token's limit. If the limit is reached, returns the seconds until a request is
    /// allowed.
    func wait(_ token: String, now: RouteTime) -> Double? {
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
