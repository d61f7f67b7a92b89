import PushProtocol
import PushRouting
import Synchronization

/// The ``PushNames`` of all providers, shared between threads.
final class NamedPushes: Sendable {
    /// The maximum number of pushes in one half of the table. Such a half takes about 10 MB.
    private static let limit = 100_000

    private let names = Mutex(PushNames(limit: limit))

    func take(_ push: PushID, device: DeviceID, payload: [UInt8]) -> Bool {
        names.withLock { $0.take(push, device: device, payload: payload) }
    }

    func forget(_ push: PushID, device: DeviceID) {
        names.withLock { $0.forget(push, device: device) }
    }
}
