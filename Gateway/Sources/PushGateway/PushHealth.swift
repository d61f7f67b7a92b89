import PushStore
import Synchronization

/// A record of whether the most recent attempt to store a push succeeded.
final class PushHealth: Sendable {
    private let failing = Mutex(false)

    var isFailing: Bool { failing.withLock { $0 } }

    func stored() {
        failing.withLock { $0 = false }
    }

    func failed() {
        failing.withLock { $0 = true }
    }
}

extension Gateway {
    /// Throws an error if the gateway refuses pushes at present, or if the store cannot be read.
    func checkHealth() async throws {
        guard store.depth < settings.commitDepth else {
            throw GatewayError("Too many pushes are waiting for the disk.")
        }
        _ = try await store.counts()
        guard health.isFailing else { return }
        // Providers may have stopped sending because this gateway is unhealthy, so the gateway itself tests the
        // store.
        try await store.probe()
        health.stored()
    }
}
