import Push
import ServiceLifecycle

/// Remote notifications as one service of the group.
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
