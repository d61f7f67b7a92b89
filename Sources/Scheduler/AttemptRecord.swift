/// The history of one transfer's attempts, as far as the next attempt and the order among transfers depend on it.
///
/// Pure. Only bytes that the next attempt continues from count as progress, and only beyond what was ever here. Whoever has
/// lost its bytes more than once has to show it: they count when an answer goes on behind them, and not when they come.
package struct AttemptRecord: Hashable, Sendable {
    /// Failures in a row without progress in between.
    package private(set) var failures: Int
    /// Attempts in a row that left nothing that lasts; one that is under way counts until it has.
    package private(set) var fruitless: Int
    /// The most bytes from which an attempt could have continued.
    package private(set) var furthest: Int64
    /// How often bytes that were here were thrown away.
    package private(set) var restarts: Int

    package init(failures: Int = 0, fruitless: Int = 0, furthest: Int64 = 0, restarts: Int = 0) {
        self.failures = failures
        self.fruitless = fruitless
        self.furthest = furthest
        self.restarts = restarts
    }

    /// Whether bytes are no progress before an answer goes on behind them.
    private var isDoubted: Bool { restarts > 1 }

    /// Whether the present attempt has brought anything that lasts.
    package func hasAdvanced(to count: Int64) -> Bool { fruitless == 0 || !isDoubted && count > furthest }

    /// An attempt begins. It counts as fruitless until it has brought something, so that one which dies with the service
    /// does.
    package mutating func begin() {
        fruitless += 1
    }

    /// The service itself has ended the attempt, which says nothing of it.
    package mutating func withdraw() {
        fruitless = max(0, fruitless - 1)
    }

    /// The attempt has failed.
    package mutating func fail() {
        failures += 1
    }

    /// Looks at what is here when an attempt begins: more than was written down came before the service died.
    package mutating func start(from count: Int64) {
        guard !isDoubted, count > furthest else { return }
        furthest = count
        failures = 0
        fruitless = min(fruitless, 1)
    }

    /// Takes in how far the present attempt has come.
    package mutating func advance(to count: Int64) {
        guard !isDoubted else { return }
        goOn(from: count)
    }

    /// An answer goes on behind so many bytes: they have lasted, whatever becomes of those to come.
    package mutating func goOn(from count: Int64) {
        guard count > furthest else { return }
        furthest = count
        failures = 0
        fruitless = 0
    }

    /// Bytes that were here are thrown away.
    ///
    /// The first time the file may well be another one, and what comes of it is progress. Who begins again and again has
    /// to come further than ever, and has failed at least as often as bytes were lost since: neither those that come nor
    /// those that lasted for a while make the pauses short again.
    package mutating func restart() {
        restarts += 1
        if restarts == 1 { furthest = 0 } else { failures = max(failures, restarts - 1) }
    }

    // MARK: - Enough

    /// Attempts in a row whose bytes were all lost, after which there is no other: more would fetch the same again for as long as
    /// the transfer may take.
    package static let mostLosses = 10
    /// Bytes that attempts in a row may fetch and lose; three attempts there are whatever they bring.
    package static let mostLostBytes: Int64 = 16 << 30
    private static let leastLosses = 3

    /// Whether attempts bring the same bytes again and again, and none can be continued.
    ///
    /// - Parameter bytes: what the present attempt has fetched, from byte 0 on.
    package func isHopeless(fetching bytes: Int64) -> Bool {
        let affordable = Int(clamping: Self.mostLostBytes / max(bytes, 1))
        let most = max(Self.leastLosses, min(Self.mostLosses, affordable))
        // Attempts that bring nothing lose nothing: they alone are not enough.
        return fruitless >= most && restarts >= most - 1
    }
}
