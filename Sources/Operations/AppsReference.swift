import Apps
import Synchronization

/// The apps, as the parts reach them that they call: such a part is made before them.
final class AppsReference: Sendable {
    /// Weak, since the apps hold the parts by their hooks.
    private struct Reference {
        weak var service: AppService?
    }

    private let reference = Mutex(Reference())

    init() {}

    /// To be called once, before anything runs.
    func connect(_ service: AppService) { reference.withLock { $0.service = service } }

    /// Nil before ``connect(_:)``, and once the apps are gone.
    var service: AppService? { reference.withLock { $0.service } }
}
