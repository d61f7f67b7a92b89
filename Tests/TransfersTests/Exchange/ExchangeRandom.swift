import Testing

/// A repeatable random number generator with a seed (SplitMix64).
struct ExchangeRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }

    mutating func number(_ range: Range<Int>) -> Int {
        Int.random(in: range, using: &self)
    }

    /// Returns a new seed for each run, and prints it so that a failure can be repeated.
    static func printedSeed(_ test: String) -> UInt64 {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("\(test): seed \(seed)")
        return seed
    }
}

/// Checks a condition as `#expect` does, but faster. The macro is too slow for loops that run very often, even if the
/// condition holds.
func always(
    _ condition: Bool, _ comment: @autoclosure () -> String, at location: SourceLocation = #_sourceLocation
) {
    if !condition { Issue.record("\(comment())", sourceLocation: location) }
}
