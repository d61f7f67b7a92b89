/// When to try again to reach a bus that is not there.
///
/// Pure. A bus that was never there is not looked for: its socket's appearing, or a change of the network, says when. One
/// that went away is tried again after pauses that double, for a while: it may be about to listen at a socket that is there
/// already.
struct Reconnection {
    private var pause: Double?
    private var hasBeenReached = false
    private(set) var deadline: Double?

    static let firstPause = 1.0
    static let longestPause = 300.0

    /// Somebody listens at the socket, whether as a bus or not.
    mutating func reached() {
        if !hasBeenReached { pause = Self.firstPause }
        hasBeenReached = true
    }

    /// There is a connection that works.
    mutating func succeeded() {
        hasBeenReached = true
        pause = Self.firstPause
        deadline = nil
    }

    /// There is none. With `hasAppeared` the socket is new, and nobody may listen yet.
    mutating func failed(hasAppeared: Bool, now: Double) {
        if hasAppeared { pause = Self.firstPause }
        guard let next = pause else {
            deadline = nil
            return
        }
        deadline = now + next
        pause = next < Self.longestPause ? min(next * 2, Self.longestPause) : nil
    }
}
