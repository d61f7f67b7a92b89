/// The time for which gpsd keeps a receiver on after its last client has disconnected.
///
/// A pure value. Times are seconds of CLOCK_BOOTTIME.
struct ReceiverHold: Equatable {
    /// The `RELEASE_TIMEOUT` of gpsd in seconds.
    static let duration = 60.0

    private var until = -Double.infinity

    /// Records that the receiver was on for a request.
    ///
    /// - Returns: the number of additional seconds for which gpsd keeps the receiver on. Seconds that an earlier call
    ///   has counted are not included.
    mutating func used(from start: Double, to end: Double) -> Double {
        let counted = max(0, min(until, end) - start)
        let alreadyHeld = max(0, until - end)
        until = end + Self.duration
        return Self.duration - counted - alreadyHeld
    }
}
