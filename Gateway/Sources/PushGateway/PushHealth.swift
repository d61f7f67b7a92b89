import PushStore
import Synchronization

/// Whether the last push that was to be stored was stored.
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
    /// Throws where pushes are refused at present, or the store cannot be read.
    func checkHealth() async throws {
        guard store.depth < settings.commitDepth else { throw GatewayError("Too many pushes wait for the disk.") }
        _ = try await store.counts()
        guard health.isFailing else { return }
        // Nobody may send until this gateway is healthy again, so it finds out itself.
        try await store.probe()
        health.stored()
    }
}
