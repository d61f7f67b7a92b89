/// A loop that runs scheduling passes one after the other, never two at the same time. A request during a pass causes
/// another pass. This is a pure value.
package struct PumpLoop: Sendable {
    private var isRunning = false
    private var isRequested = false

    package init() {}

    /// Requests a scheduling pass.
    package mutating func request() { isRequested = true }

    /// Begins the loop.
    ///
    /// - Returns: whether the caller must run the loop by calling ``next()`` until it returns false.
    package mutating func begin() -> Bool {
        request()
        guard !isRunning else { return false }
        isRunning = true
        return true
    }

    /// Decides whether another pass follows.
    ///
    /// - Parameter isStopping: whether transfers may no longer start.
    /// - Returns: whether a pass was requested since the last one began.
    package mutating func next(isStopping: Bool) -> Bool {
        guard isRequested, !isStopping else {
            isRunning = false
            return false
        }
        isRequested = false
        return true
    }
}
