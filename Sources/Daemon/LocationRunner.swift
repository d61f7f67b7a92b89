import Device
import Location
import ServiceLifecycle

/// The service of the group that runs location.
struct LocationRunner: Service {
    let service: LocationService
    let sources: LocationSources

    func run() async throws {
        sources.start()
        await withGracefulShutdownHandler {
            await service.run()
        } onGracefulShutdown: {
            Task { await service.stop() }
        }
    }
}
