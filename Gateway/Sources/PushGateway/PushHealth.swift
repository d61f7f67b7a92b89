import PushStore
import Synchronization

/// Whether the most recent attempt to store a push succeeded.
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
    /// Throws if pushes are refused at present, or the store cannot be read.
    func checkHealth() async throws {
        guard store.depth < settings.commitDepth else {
            throw GatewayError("Too many pushes are waiting for the disk.")
        }
        _ = try await store.counts()
        guard health.isFailing else { return }
        // No provider may send while this gateway is unhealthy, so the gateway tests the store itself.
        try await store.probe()
        health.stored()
    }
}
