import Dispatch
package import Store
import TestSupport

/// Another who writes, for as long as a test wants: whatever is to be written meanwhile waits.
package final class StoreHold: Sendable {
    private let word = DispatchSemaphore(value: 0)

    /// Returns when it writes.
    package init(_ store: Store) async throws {
        let hasBegun = Watched(false)
        let word = word
        Task {
            try await store.write { _ in
                hasBegun.update { $0 = true }
                word.wait()
            }
        }
        try await hasBegun.wait(for: "the store") { $0 }
    }

    deinit { word.signal() }

    package func release() { word.signal() }
}
