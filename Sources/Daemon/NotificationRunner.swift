import Notifications
import ServiceLifecycle

/// The service of the group that runs notifications.
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
