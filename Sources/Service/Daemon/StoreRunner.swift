import ServiceLifecycle
import Store

/// The service of the group that shortens the waits for the database's lock when the service is asked to stop.
struct StoreRunner: Service {
    let store: Store

    /// The maximum wait for the database's lock while the service stops: half of the time in which it must stop. The
    /// other half is left for its remaining work.
    static let longestWait: Duration = .seconds(1)

    func run() async throws {
        try? await gracefulShutdown()
        store.endLockWaits(at: .now + Self.longestWait)
    }
}
