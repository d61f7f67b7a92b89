import Device
import Location
import ServiceLifecycle

/// Runs location as a service of the group.
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
