/// The remaining background time of a process, in one machine word. The service writes the word, and the process reads
/// it without a request.
///
/// The word is at the beginning of a file that both processes map (``ProcessHello/clock``). It is in the byte order of
/// the machine, and is read and written in one access. The service writes the word before it resumes a process, so the
/// value is correct from the start.
package enum BackgroundClock: Hashable, Sendable {
    /// The value without a limit, as in the foreground.
    case unlimited
    /// A running time. It is over when CLOCK_MONOTONIC reaches this number of nanoseconds.
    case counting(until: Int64)
    /// A paused time, with this number of nanoseconds left.
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

    /// Returns the remaining number of seconds. It is infinite if there is no limit.
    package func remaining(atNanoseconds now: Int64) -> Double {
        switch self {
        case .unlimited: .infinity
        case .counting(let end): Double(max(0, end - now)) / 1e9
        case .standing(let left): Double(left) / 1e9
        }
    }
}
