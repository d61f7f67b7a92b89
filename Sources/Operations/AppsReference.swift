import Apps
import Synchronization

/// A reference to the apps. Features that call the apps are created before the apps, so they use this reference.
final class AppsReference: Sendable {
    /// A weak reference to the apps. It must be weak, because the apps hold the features through their hooks.
    private struct Reference {
        weak var service: AppService?
    }

    private let reference = Mutex(Reference())

    init() {}

    /// Sets the apps. This must be called once, before anything runs.
    func connect(_ service: AppService) { reference.withLock { $0.service = service } }

    /// The apps; nil before ``connect(_:)`` and after the apps are gone.
    var service: AppService? { reference.withLock { $0.service } }
}
