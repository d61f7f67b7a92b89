package import NightshiftAPI
import Synchronization

/// What the entries of installed apps say, as a test has them: who reads them may have his answer late.
package final class ScriptedEntries: Sendable {
    private struct Kept {
        var manifests: [AppManifest]
        var meanwhile: (@Sendable () async -> Void)?
    }

    private let kept: Mutex<Kept>

    package init(_ manifests: [AppManifest] = []) { kept = Mutex(Kept(manifests: manifests)) }

    package func install(_ manifests: [AppManifest]) { kept.withLock { $0.manifests = manifests } }

    /// Happens once, between the next reading and its answer.
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
