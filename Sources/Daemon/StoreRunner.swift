import ServiceLifecycle
import Store

/// Shortens the waits for the database's lock when the service is asked to leave.
struct StoreRunner: Service {
    let store: Store

    /// Half of what a service has that was asked to leave: the rest of it has to be done as well.
    static let longestWait: Duration = .seconds(1)

    func run() async throws {
        try? await gracefulShutdown()
        store.endLockWaits(at: .now + Self.longestWait)
    }
}
