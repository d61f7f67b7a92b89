import ServiceLifecycle
import Transfers

/// Runs the transfers as a service of the group.
struct TransferRunner: Service {
    let service: TransferService

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await service.run()
        } onGracefulShutdown: {
            Task { await service.stop() }
        }
    }
}
