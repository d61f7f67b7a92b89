import Apps
import Synchronization

/// A reference to the apps for the features that call them. Such a feature is created before the apps.
final class AppsReference: Sendable {
    /// The reference is weak, because the apps hold the features with their hooks.
    private struct Reference {
        weak var service: AppService?
    }

    private let reference = Mutex(Reference())

    init() {}

    /// Call this once, before anything runs.
    func connect(_ service: AppService) { reference.withLock { $0.service = service } }

    /// The apps; nil before ``connect(_:)`` and after the apps are gone.
    var service: AppService? { reference.withLock { $0.service } }
}
