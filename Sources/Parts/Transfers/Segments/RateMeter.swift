/// A rate in bytes per second, measured over the last half second or so. The latest bytes have the most weight.
struct RateMeter: Hashable, Sendable {
    private var bytes: Double = 0
    private(set) var seconds: Double = 0

    /// The number of seconds after which a reading has half its weight. This is long enough to smooth out single round
    /// trips, and short enough to notice a collapsing connection before its segment is the last one.
    private static let memory: Double = 0.5

    mutating func add(_ count: Int64, over elapsed: Double) {
        guard elapsed > 0 else { return }
        let kept = Self.memory / (Self.memory + elapsed)
        bytes = bytes * kept + Double(count)
        seconds = seconds * kept + elapsed
    }

    /// The rate; nil before enough time was observed.
    var bytesPerSecond: Double? { seconds >= Self.shortest ? bytes / seconds : nil }

    /// The number of seconds below which a reading depends on chance, because bytes arrive in bursts.
    private static let shortest: Double = 0.05
}
