/// Bytes per second over the last moments, the latest weighing most.
struct RateMeter: Hashable, Sendable {
    private var bytes: Double = 0
    private(set) var seconds: Double = 0

    /// Seconds after which a reading weighs half: long enough to see through single round trips, short enough to notice a
    /// connection that breaks in before its segment has become the last one.
    private static let memory: Double = 0.5

    mutating func add(_ count: Int64, over elapsed: Double) {
        guard elapsed > 0 else { return }
        let kept = Self.memory / (Self.memory + elapsed)
        bytes = bytes * kept + Double(count)
        seconds = seconds * kept + elapsed
    }

    /// Nil before there is anything to go by.
    var bytesPerSecond: Double? { seconds >= Self.shortest ? bytes / seconds : nil }

    /// Seconds below which a reading is chance: bytes come in bursts.
    private static let shortest: Double = 0.05
}
