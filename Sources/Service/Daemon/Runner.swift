import Apps
import Location
import Notifications
import Push
import Refresh
import ServiceLifecycle
import Transfers

/// A part that runs until it is stopped.
protocol RunningPart: Actor {
    /// Runs the part. Returns after ``stop()``.
    func run() async throws
    func stop() async
}

extension TransferService: RunningPart {}
extension AppService: RunningPart {}
extension RefreshService: RunningPart {}
extension LocationService: RunningPart {}
extension NotificationService: RunningPart {}
extension PushService: RunningPart {}
extension DeviceCoordinator: RunningPart {}

/// A service of the group that runs one part until the group shuts down.
struct Runner<Part: RunningPart>: Service {
    let part: Part

    init(_ part: Part) { self.part = part }

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await part.run()
        } onGracefulShutdown: {
            Task { await part.stop() }
        }
    }
}
