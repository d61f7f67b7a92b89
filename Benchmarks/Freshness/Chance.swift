import Foundation
import TestSupport

/// Random distributions for simulated people.
package struct Chance: Sendable {
    private var random: SplitMix64

    package init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    package mutating func uniform(_ range: ClosedRange<Double>) -> Double {
        let fraction = Double(random.next() >> 11) / 9_007_199_254_740_992
        return range.lowerBound + (range.upperBound - range.lowerBound) * fraction
    }

    package mutating func happens(_ probability: Double) -> Bool { uniform(0...1) < probability }

    /// Returns a number of a normal distribution, by Box and Muller's method.
    package mutating func normal(_ mean: Double, _ deviation: Double) -> Double {
        let (first, second) = (max(uniform(0...1), 1e-12), uniform(0...1))
        return mean + deviation * (-2 * log(first)).squareRoot() * cos(2 * .pi * second)
    }

    package mutating func logNormal(median: Double, deviation: Double) -> Double { median * exp(normal(0, deviation)) }

    /// Returns a number of a Poisson distribution, by Knuth's method for small means.
    package mutating func poisson(_ mean: Double) -> Int {
        let limit = exp(-mean)
        var (count, product) = (0, uniform(0...1))
        while product > limit {
            count += 1
            product *= uniform(0...1)
        }
        return count
    }

    /// Returns a random index, each with a probability proportional to its weight.
    package mutating func place(_ weights: [Double]) -> Int {
        var rest = uniform(0...1) * weights.reduce(0, +)
        for (index, weight) in weights.enumerated() {
            rest -= weight
            if rest < 0 { return index }
        }
        return weights.count - 1
    }
}
