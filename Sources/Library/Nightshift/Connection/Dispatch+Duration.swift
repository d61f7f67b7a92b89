import Dispatch
import NightshiftAPI

extension DispatchSemaphore {
    /// Blocks the thread until the semaphore is signalled or the timeout ends.
    ///
    /// - Returns: False if no signal arrived within `timeout`.
    func wait(within timeout: Duration) -> Bool { wait(timeout: .now(after: timeout)) == .success }
}

extension DispatchQueue {
    /// Calls `body` on the queue after a pause. Without a pause, `body` is called in the order of the queue.
    func async(after pause: Duration, _ body: @escaping @Sendable () -> Void) {
        if pause > .zero { asyncAfter(deadline: .now(after: pause), execute: body) } else { async(execute: body) }
    }
}

extension DispatchTime {
    fileprivate static func now(after duration: Duration) -> DispatchTime {
        let (seconds, attoseconds) = duration.components
        return .now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
    }
}
