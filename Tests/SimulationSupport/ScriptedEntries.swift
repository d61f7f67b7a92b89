package import NightshiftAPI
import Synchronization

/// A source of the desktop entries that a test has installed. A test can delay the result of a read.
package final class ScriptedEntries: Sendable {
    private struct Kept {
        var manifests: [AppManifest]
        var meanwhile: (@Sendable () async -> Void)?
    }

    private let kept: Mutex<Kept>

    package init(_ manifests: [AppManifest] = []) { kept = Mutex(Kept(manifests: manifests)) }

    package func install(_ manifests: [AppManifest]) { kept.withLock { $0.manifests = manifests } }

    /// Runs `meanwhile` once, after the next read and before its result is returned.
    package func duringNextReading(_ meanwhile: @escaping @Sendable () async -> Void) {
        kept.withLock { $0.meanwhile = meanwhile }
    }

    package func read() async -> [AppManifest] {
        let answer = kept.withLock { kept in
            defer { kept.meanwhile = nil }
            return kept
        }
        await answer.meanwhile?()
        return answer.manifests
    }
}
