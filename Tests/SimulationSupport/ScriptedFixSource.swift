package import NightshiftAPI
import Synchronization

/// Location sources that report what the test sets. At first they report that no source is available.
package final class ScriptedFixSource: FixSource {
    package let updates: AsyncStream<FixUpdate>
    private let continuation: AsyncStream<FixUpdate>.Continuation
    private let kept = Mutex(Kept())

    private struct Kept {
        var wishes: [FixDemand] = []
        var looks = 0
        var seen: FixUpdate?
        var meanwhile: (@Sendable () async -> Void)?
        var isShutDown = false
    }

    package init() {
        (updates, continuation) = AsyncStream.makeStream()
        tell(Self.none)
    }

    package static let none = FixUpdate.sources([], canMonitorRegions: false, canMonitorSignificantChanges: false)

    /// The requests for locations, oldest first.
    package var wishes: [FixDemand] { kept.withLock { $0.wishes } }
    /// The number of times that the available sources were queried.
    package var looks: Int { kept.withLock { $0.looks } }
    package var isShutDown: Bool { kept.withLock { $0.isShutDown } }

    package func tell(_ update: FixUpdate) { continuation.yield(update) }

    package func want(_ wish: FixDemand) { kept.withLock { $0.wishes.append(wish) } }

    /// Sets the update that the next query returns. Until then, queries return no update.
    package func show(_ update: FixUpdate) { kept.withLock { $0.seen = update } }

    /// Runs `meanwhile` once, after the next query has read its result and before it returns.
    package func duringNextLook(_ meanwhile: @escaping @Sendable () async -> Void) {
        kept.withLock { $0.meanwhile = meanwhile }
    }

    package func look() async -> FixUpdate? {
        let answer = kept.withLock { kept in
            kept.looks += 1
            defer { kept.meanwhile = nil }
            return kept
        }
        await answer.meanwhile?()
        return answer.seen
    }

    package func shutdown() {
        kept.withLock { $0.isShutDown = true }
        continuation.finish()
    }
}
