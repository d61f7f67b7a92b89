/// The remaining background time of a process, as one word that the service writes and the process reads without a
/// request.
///
/// The word is at the beginning of a file that both processes map (``ProcessHello/clock``). It is in the byte order of
/// the machine, and is read and written in one access. The service writes it before it resumes a process, so the value
/// is correct from the start.
package enum BackgroundClock: Hashable, Sendable {
    /// In the foreground, or without a limit.
    case unlimited
    /// Time is passing. It is over when CLOCK_MONOTONIC reaches this number of nanoseconds.
    case counting(until: Int64)
    /// Time is paused, with this number of nanoseconds left.
    case standing(Int64)

    /// The size of the file in bytes.
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

    /// The remaining seconds; infinite without a limit.
    package func remaining(atNanoseconds now: Int64) -> Double {
        switch self {
        case .unlimited: .infinity
        case .counting(let end): Double(max(0, end - now)) / 1e9
        case .standing(let left): Double(left) / 1e9
        }
    }
}
