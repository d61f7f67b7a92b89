import Apps
import ServiceLifecycle

/// Runs the apps as a service of the group.
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
