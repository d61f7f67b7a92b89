import Foundation
import Synchronization

/// The rules for how long connections wait for a lock of another program, such as a backup.
final class LockWaits: Sendable {
    private let latest = Mutex<ContinuousClock.Instant?>(nil)

    /// The usual wait in seconds.
    static let usual = 5.0

    /// Sets the time after which connections no longer wait for locks.
    func end(at moment: ContinuousClock.Instant) {
        latest.withLock { $0 = min($0 ?? moment, moment) }
    }

    /// Returns whether to try again to get the lock, after a pause. This is SQLite's busy handler.
    func triesAgain(after tries: Int) -> Bool {
        let pause = Self.pause(tries)
        guard Self.waited(tries) + pause <= Self.usual else { return false }
        if let end = latest.withLock({ $0 }), ContinuousClock.now >= end { return false }
        Thread.sleep(forTimeInterval: pause)
        return true
    }

    /// Returns the pause in seconds before a try. The pause is short at first, because most locks are short.
    static func pause(_ tries: Int) -> Double { min(0.001 * Double(1 << min(tries, 6)), 0.05) }

    /// Returns the sum of all pauses before a try, in seconds.
    static func waited(_ tries: Int) -> Double { (0..<tries).reduce(0) { $0 + pause($1) } }
}
