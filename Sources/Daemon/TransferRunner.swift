import ServiceLifecycle
import Transfers

/// The service of the group that runs the transfers.
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
