import Refresh
import ServiceLifecycle

/// The service of the group that runs background refresh.
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
