import Foundation

extension Progress {
    /// Lets the app control a task with this object. Both closures may be called on any thread.
    ///
    /// - Parameter follow: A closure that is called when ``isPaused`` may have changed.
    func control<Task: AnyObject & Sendable>(
        _ task: Task, cancel: @escaping @Sendable (Task) -> Void, follow: @escaping @Sendable (Task) -> Void
    ) {
        let changed: @Sendable () -> Void = { [weak task] in if let task { follow(task) } }
        (isCancellable, isPausable) = (true, true)
        cancellationHandler = { [weak task] in if let task { cancel(task) } }
        (pausingHandler, resumingHandler) = (changed, changed)
    }

    /// - Parameter total: The expected number of bytes. It is not positive if the number is unknown.
    func show(_ done: Int64, of total: Int64) {
        totalUnitCount = total > 0 ? total : -1
        completedUnitCount = done
    }
}
