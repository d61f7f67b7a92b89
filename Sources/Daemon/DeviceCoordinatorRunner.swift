import ServiceLifecycle

/// The service of the group that runs the device coordinator.
struct DeviceCoordinatorRunner: Service {
    let conductor: DeviceCoordinator

    func run() async throws {
        await withGracefulShutdownHandler {
            await conductor.run()
        } onGracefulShutdown: {
            Task { await conductor.stop() }
        }
    }
}
