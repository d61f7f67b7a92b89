import Dispatch
import NightshiftAPI

extension DispatchSemaphore {
    /// Blocks the thread until the semaphore is signalled or the timeout ends.
    ///
    /// - Returns: False if no signal arrived within `timeout`.
    func wait(within timeout: Duration) -> Bool {
        let (seconds, attoseconds) = timeout.components
        let end = DispatchTime.now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
        return wait(timeout: end) == .success
    }
}
