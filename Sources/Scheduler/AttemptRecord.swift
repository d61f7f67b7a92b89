/// The history of one transfer's attempts, as far as the next attempt and the order among transfers depend on it.
///
/// Pure. Only bytes that the next attempt continues from count as progress, and only beyond what was ever here.
package struct AttemptRecord: Hashable, Sendable {
    /// Failures in a row without progress in between.
    package private(set) var failures: Int
    /// Attempts in a row that left nothing that lasts; one that is under way counts until it has.
    package private(set) var fruitless: Int
    /// The most bytes from which an attempt could have continued.
    package private(set) var furthest: Int64

    package init(failures: Int = 0, fruitless: Int = 0, furthest: Int64 = 0) {
        self.failures = failures
        self.fruitless = fruitless
        self.furthest = furthest
    }

    /// Whether the present attempt has brought anything that lasts.
    package func hasAdvanced(to count: Int64) -> Bool { fruitless == 0 || count > furthest }

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
        guard count > furthest else { return }
        furthest = count
        failures = 0
        fruitless = min(fruitless, 1)
    }

    /// Takes in how far the present attempt has come.
    package mutating func advance(to count: Int64) {
        guard count > furthest else { return }
        furthest = count
        failures = 0
        fruitless = 0
    }
}
