/// The time for which gpsd keeps a receiver on after its last client has gone.
///
/// Pure. Times are seconds of CLOCK_BOOTTIME.
struct ReceiverHold: Equatable {
    /// Seconds: `RELEASE_TIMEOUT` of gpsd.
    static let duration = 60.0

    private var until = -Double.infinity

    /// The receiver was on for a request.
    ///
    /// - Returns: the seconds for which it is on beside those of the request, and that no earlier request has counted.
    mutating func used(from start: Double, to end: Double) -> Double {
        let counted = max(0, min(until, end) - start)
        let alreadyHeld = max(0, until - end)
        until = end + Self.duration
        return Self.duration - counted - alreadyHeld
    }
}
