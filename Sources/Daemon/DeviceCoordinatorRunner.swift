import ServiceLifecycle

/// Runs the conductor as a service of the group.
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
