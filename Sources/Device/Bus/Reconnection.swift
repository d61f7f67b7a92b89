/// Decides when to reconnect to an unavailable bus.
///
/// Pure. A bus that was never reached is not retried by time: the appearance of its socket, or a change of the network,
/// causes the attempt. A bus that was lost is retried for a while after pauses that double, because it may be about to
/// listen at an existing socket.
struct Reconnection {
    private var pause: Double?
    private var hasBeenReached = false
    private(set) var deadline: Double?

    static let firstPause = 1.0
    static let longestPause = 300.0

    /// Records that a process listens at the socket, whether or not it is a bus.
    mutating func reached() {
        if !hasBeenReached { pause = Self.firstPause }
        hasBeenReached = true
    }

    /// Records that a connection works.
    mutating func succeeded() {
        hasBeenReached = true
        pause = Self.firstPause
        deadline = nil
    }

    /// Records a failed attempt. With `hasAppeared` the socket is new, and no process may listen there yet.
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
