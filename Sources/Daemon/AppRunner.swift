import Apps
import ServiceLifecycle

/// The service of the group that runs the apps.
struct AppRunner: Service {
    let service: AppService

    func run() async throws {
        await withGracefulShutdownHandler {
            await service.run()
        } onGracefulShutdown: {
            Task { await service.stop() }
        }
    }
}
