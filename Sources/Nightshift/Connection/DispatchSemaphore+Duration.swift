import Dispatch
import NightshiftAPI

extension DispatchSemaphore {
    /// Waits for a signal, and blocks the thread meanwhile.
    ///
    /// - Returns: False if no signal arrived within `timeout`.
    func wait(within timeout: Duration) -> Bool {
        let (seconds, attoseconds) = timeout.components
        let limit = DispatchTime.now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
        return wait(timeout: limit) == .success
    }
}
