import Notifications
import ServiceLifecycle

/// Runs notifications as a service of the group.
struct NotificationRunner: Service {
    let service: NotificationService

    func run() async throws {
        await withGracefulShutdownHandler {
            await service.run()
        } onGracefulShutdown: {
            Task { await service.stop() }
        }
    }
}
