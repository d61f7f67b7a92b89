import Push
import ServiceLifecycle

/// Runs remote notifications as a service of the group.
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
