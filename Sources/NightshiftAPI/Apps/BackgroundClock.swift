/// How much background time a process has, as one word that the service writes and the process reads without asking.
///
/// The word stands at the beginning of a file that both map (``ProcessHello/clock``), in the machine's byte order, and is read and
/// written in one access. Written before a process goes on, it is true from the process's first moment.
package enum BackgroundClock: Hashable, Sendable {
    /// In the foreground, or not limited at all.
    case unlimited
    /// Time passes: it is over when CLOCK_MONOTONIC shows so many nanoseconds.
    case counting(until: Int64)
    /// Time stands still with so many nanoseconds left.
    case standing(Int64)

    /// Bytes of the file.
    package static let size = 8

    package var word: Int64 {
        switch self {
        case .unlimited: .max
        case .counting(let end): max(0, min(end, .max - 1))
        case .standing(let left): -1 - max(0, min(left, .max - 1))
        }
    }

    package init(word: Int64) {
        self =
            if word == .max { .unlimited } else if word >= 0 { .counting(until: word) } else { .standing(-1 - word) }
    }

    /// Seconds left; infinite without a limit.
    package func remaining(atNanoseconds now: Int64) -> Double {
        switch self {
        case .unlimited: .infinity
        case .counting(let end): Double(max(0, end - now)) / 1e9
        case .standing(let left): Double(left) / 1e9
        }
    }
}
