package import NightshiftAPI
import Synchronization

/// Sources of places that say what the test says, and at first that there are none.
package final class ScriptedFixSource: FixSource {
    package let updates: AsyncStream<FixUpdate>
    private let continuation: AsyncStream<FixUpdate>.Continuation
    private let kept = Mutex<(wishes: [FixWish], looks: Int, seen: FixUpdate?, isShutDown: Bool)>(([], 0, nil, false))

    package init() {
        (updates, continuation) = AsyncStream.makeStream()
        tell(Self.none)
    }

    package static let none = FixUpdate.sources([], canMonitorRegions: false, canMonitorSignificantChanges: false)

    /// What was wanted, oldest first.
    package var wishes: [FixWish] { kept.withLock { $0.wishes } }
    /// How often somebody has asked what there is.
    package var looks: Int { kept.withLock { $0.looks } }
    package var isShutDown: Bool { kept.withLock { $0.isShutDown } }

    package func tell(_ update: FixUpdate) { continuation.yield(update) }

    package func want(_ wish: FixWish) { kept.withLock { $0.wishes.append(wish) } }

    /// Says what is seen by whoever looks; before, nobody sees anything new.
    package func show(_ update: FixUpdate) { kept.withLock { $0.seen = update } }

    package func look() async -> FixUpdate? {
        kept.withLock { kept in
            kept.looks += 1
            return kept.seen
        }
    }

    package func shutdown() {
        kept.withLock { $0.isShutDown = true }
        continuation.finish()
    }
}
