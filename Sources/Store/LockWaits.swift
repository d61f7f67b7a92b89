import Foundation
import Synchronization

/// The time for which connections wait for a lock of another program, such as a backup.
final class LockWaits: Sendable {
    private let latest = Mutex<ContinuousClock.Instant?>(nil)

    /// The usual wait in seconds.
    static let usual = 5.0

    /// Sets a time after which no connection waits.
    func end(at moment: ContinuousClock.Instant) {
        latest.withLock { $0 = min($0 ?? moment, moment) }
    }

    /// Whether to try again: SQLite's busy handler. Pauses before it returns true.
    func triesAgain(after tries: Int) -> Bool {
        let pause = Self.pause(tries)
        guard Self.waited(tries) + pause <= Self.usual else { return false }
        if let end = latest.withLock({ $0 }), ContinuousClock.now >= end { return false }
        Thread.sleep(forTimeInterval: pause)
        return true
    }

    /// Returns the pause in seconds before a try. It is short at first, because most locks are short.
    static func pause(_ tries: Int) -> Double { min(0.001 * Double(1 << min(tries, 6)), 0.05) }

    /// Returns the sum of all pauses before a try, in seconds.
    static func waited(_ tries: Int) -> Double { (0..<tries).reduce(0) { $0 + pause($1) } }
}
