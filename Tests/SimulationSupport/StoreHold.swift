import Dispatch
package import Store
import TestSupport

/// A second writer that blocks the database for as long as a test needs, so that all other writes wait.
package final class StoreHold: Sendable {
    private let word = DispatchSemaphore(value: 0)

    /// Returns once the second writer has started to write.
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
