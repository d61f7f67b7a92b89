import ServiceLifecycle

/// Runs the conductor as a service of the group.
struct ConductorRunner: Service {
    let conductor: Conductor

    func run() async throws {
        await withGracefulShutdownHandler {
            await conductor.run()
        } onGracefulShutdown: {
            Task { await conductor.stop() }
        }
    }
}
