package import NightshiftAPI
import Synchronization

/// Sources of places that say what the test says, and at first that there are none.
package final class ScriptedFixSource: FixSource {
    package let updates: AsyncStream<FixUpdate>
    private let continuation: AsyncStream<FixUpdate>.Continuation
    private let kept = Mutex<(wishes: [FixWish], isShutDown: Bool)>(([], false))

    package init() {
        (updates, continuation) = AsyncStream.makeStream()
        tell(Self.none)
    }

    package static let none = FixUpdate.sources([], canMonitorRegions: false, canMonitorSignificantChanges: false)

    /// What was wanted, oldest first.
    package var wishes: [FixWish] { kept.withLock { $0.wishes } }
    package var isShutDown: Bool { kept.withLock { $0.isShutDown } }

    package func tell(_ update: FixUpdate) { continuation.yield(update) }

    package func want(_ wish: FixWish) { kept.withLock { $0.wishes.append(wish) } }

    package func shutdown() {
        kept.withLock { $0.isShutDown = true }
        continuation.finish()
    }
}
