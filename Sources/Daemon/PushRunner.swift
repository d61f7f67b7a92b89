import Push
import ServiceLifecycle

/// The service of the group that runs remote notifications.
struct PushRunner: Service {
    let service: PushService

    func run() async throws {
        await withGracefulShutdownHandler {
            await service.run()
        } onGracefulShutdown: {
            Task { await service.stop() }
        }
    }
}
