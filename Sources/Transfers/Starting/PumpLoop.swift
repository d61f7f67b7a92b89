/// One admission after the other, and never two at once: what asks for one while one is under way gets another behind it. Pure.
package struct PumpLoop: Sendable {
    private var isRunning = false
    private var isRequested = false

    package init() {}

    /// Somebody wants an admission.
    package mutating func request() { isRequested = true }

    /// - Returns: whether the caller is the one to run it, with ``next()`` until that is false.
    package mutating func begin() -> Bool {
        request()
        guard !isRunning else { return false }
        isRunning = true
        return true
    }

    /// - Parameter isStopping: whether nothing is to be started any more.
    /// - Returns: whether an admission was asked for since the last one began.
    package mutating func next(isStopping: Bool) -> Bool {
        guard isRequested, !isStopping else {
            isRunning = false
            return false
        }
        isRequested = false
        return true
    }
}
