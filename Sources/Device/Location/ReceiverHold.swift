/// The time for which gpsd keeps a receiver on after its last client has disconnected.
///
/// Pure. Times are seconds of CLOCK_BOOTTIME.
struct ReceiverHold: Equatable {
    /// The `RELEASE_TIMEOUT` of gpsd in seconds.
    static let duration = 60.0

    private var until = -Double.infinity

    /// Records that the receiver was on for a request.
    ///
    /// - Returns: the additional seconds for which it stays on, without those that an earlier request has counted.
    mutating func used(from start: Double, to end: Double) -> Double {
        let counted = max(0, min(until, end) - start)
        let alreadyHeld = max(0, until - end)
        until = end + Self.duration
        return Self.duration - counted - alreadyHeld
    }
}
