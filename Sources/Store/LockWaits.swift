import Foundation
import Synchronization

/// How long connections wait for a lock of another program, such as a backup.
final class LockWaits: Sendable {
    private let latest = Mutex<ContinuousClock.Instant?>(nil)

    /// Seconds while nothing has to be done in time.
    static let usual = 5.0

    /// No connection waits beyond this moment, from now on.
    func end(at moment: ContinuousClock.Instant) {
        latest.withLock { $0 = min($0 ?? moment, moment) }
    }

    /// Whether to try once more: SQLite's busy handler. Pauses before it says yes.
    func triesAgain(after tries: Int) -> Bool {
        let pause = Self.pause(tries)
        guard Self.waited(tries) + pause <= Self.usual else { return false }
        if let end = latest.withLock({ $0 }), ContinuousClock.now >= end { return false }
        Thread.sleep(forTimeInterval: pause)
        return true
    }

    /// Seconds before a try: short at first, since most locks are.
    static func pause(_ tries: Int) -> Double { min(0.001 * Double(1 << min(tries, 6)), 0.05) }

    /// Seconds of all pauses before a try.
    static func waited(_ tries: Int) -> Double { (0..<tries).reduce(0) { $0 + pause($1) } }
}
