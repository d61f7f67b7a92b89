import ServiceLifecycle
import Transfers

/// The transfers as one service of the group.
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
