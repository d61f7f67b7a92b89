import ServiceLifecycle
import Store

/// Shortens the waits for the database's lock when the service is asked to stop.
struct StoreRunner: Service {
    let store: Store

    /// Half of the time that a service has to stop. The other half is left for its remaining work.
    static let longestWait: Duration = .seconds(1)

    func run() async throws {
        try? await gracefulShutdown()
        store.endLockWaits(at: .now + Self.longestWait)
    }
}
