import Refresh
import ServiceLifecycle

/// Runs background refresh as a service of the group.
struct RefreshRunner: Service {
    let service: RefreshService

    func run() async throws {
        await withGracefulShutdownHandler {
            await service.run()
        } onGracefulShutdown: {
            Task { await service.stop() }
        }
    }
}
