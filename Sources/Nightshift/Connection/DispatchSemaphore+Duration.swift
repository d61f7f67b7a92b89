import Dispatch
import NightshiftAPI

extension DispatchSemaphore {
    /// Blocks.
    ///
    /// - Returns: false where nobody has signalled within `patience`.
    func wait(within patience: Duration) -> Bool {
        let (seconds, attoseconds) = patience.components
        let limit = DispatchTime.now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
        return wait(timeout: limit) == .success
    }
}
