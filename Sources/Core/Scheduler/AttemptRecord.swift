/// The history of one transfer's attempts, which determines the next attempt and the order of transfers. This is a pure
/// value.
///
/// Bytes count as progress only if the next attempt can resume from them, and only beyond the previous maximum. After a
/// transfer has lost its bytes more than once, new bytes count only when a response has resumed after them.
package struct AttemptRecord: Hashable, Sendable {
    /// The number of consecutive failures without progress in between.
    package private(set) var failures: Int
    /// The number of consecutive attempts without lasting progress. The current attempt is included until it makes
    /// progress.
    package private(set) var fruitless: Int
    /// The largest number of bytes from which an attempt could have resumed.
    package private(set) var furthest: Int64
    /// The number of times that received bytes were discarded.
    package private(set) var restarts: Int

    package init(failures: Int = 0, fruitless: Int = 0, furthest: Int64 = 0, restarts: Int = 0) {
        self.failures = failures
        self.fruitless = fruitless
        self.furthest = furthest
        self.restarts = restarts
    }

    /// Whether bytes count as progress only after a response has resumed from them.
    private var isDoubted: Bool { restarts > 1 }

    /// Returns whether the current attempt has made lasting progress.
    package func hasAdvanced(to count: Int64) -> Bool { fruitless == 0 || !isDoubted && count > furthest }

    /// Records the start of an attempt. Until it makes progress, the attempt counts as one without progress, so an
    /// attempt that ends with a crash of the service is counted.
    package mutating func begin() {
        fruitless += 1
    }

    /// Records that the service itself ended the attempt. Such an attempt is not counted as one without progress.
    package mutating func withdraw() {
        fruitless = max(0, fruitless - 1)
    }

    /// Records that the attempt failed.
    package mutating func fail() {
        failures += 1
    }

    /// Records the number of bytes that exist when an attempt begins. This number can be higher than the number that
    /// was recorded before the service crashed.
    package mutating func start(from count: Int64) {
        guard !isDoubted, count > furthest else { return }
        furthest = count
        failures = 0
        fruitless = min(fruitless, 1)
    }

    /// Records the progress of the current attempt.
    package mutating func advance(to count: Int64) {
        guard !isDoubted else { return }
        goOn(from: count)
    }

    /// Records that a response resumed after `count` bytes. These bytes count as lasting progress in any case.
    package mutating func goOn(from count: Int64) {
        guard count > furthest else { return }
        furthest = count
        failures = 0
        fruitless = 0
    }

    /// Records that received bytes were discarded.
    ///
    /// After the first restart, the file may be a different one, so its bytes count as progress from zero. A transfer
    /// that restarts again has to exceed its previous maximum. Its failure count is at least its number of restarts
    /// minus one, so bytes that do not last cannot shorten the pauses.
    package mutating func restart() {
        restarts += 1
        if restarts == 1 { furthest = 0 } else { failures = max(failures, restarts - 1) }
    }

    // MARK: - Giving up

    /// The number of consecutive attempts with lost bytes after which the transfer fails. More attempts would fetch the
    /// same bytes until the transfer times out.
    package static let mostLosses = 10
    /// The number of bytes that consecutive attempts may fetch and lose. The service makes three attempts even if they
    /// exceed this number.
    package static let mostLostBytes: Int64 = 16 << 30
    private static let leastLosses = 3

    /// Returns whether attempts fetch the same bytes repeatedly and none of these attempts can be resumed.
    ///
    /// - Parameter bytes: the bytes that the current attempt has fetched from byte 0 on.
    package func isHopeless(fetching bytes: Int64) -> Bool {
        let affordable = Int(clamping: Self.mostLostBytes / max(bytes, 1))
        let most = max(Self.leastLosses, min(Self.mostLosses, affordable))
        // Attempts without bytes lose no bytes, so the code also checks the number of restarts.
        return fruitless >= most && restarts >= most - 1
    }
}
