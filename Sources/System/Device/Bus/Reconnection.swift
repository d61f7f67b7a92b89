/// The times at which to reconnect to an unavailable bus.
///
/// A pure value. If the bus was never reached, only the appearance of its socket or a change of the network causes an
/// attempt. If the connection was lost, attempts are repeated for a while after pauses that double, because the bus may
/// soon listen at the existing socket again.
struct Reconnection {
    private var pause: Double?
    private var hasBeenReached = false
    private(set) var deadline: Double?

    static let firstPause = 1.0
    static let longestPause = 300.0

    /// Records that a process listens at the socket, even if it may not be a bus.
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

    /// Records a failed attempt. `hasAppeared` means that the socket is new, and that the process that created it might
    /// not be listening yet.
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
