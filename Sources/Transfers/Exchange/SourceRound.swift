package import NightshiftAPI

/// Which of a download's URLs is asked: one after the other, each once, before the task waits or fails.
///
/// It begins with the URL that the bytes here came from, so that nothing has to be proven; without bytes with the task's own.
package struct SourceRound: Hashable, Sendable {
    /// The task's own URL, then its mirrors.
    private let urls: [String]
    /// Places of those that are not asked: they have sent the whole of another file.
    private let wrong: Set<Int>
    private var index: Int
    private var remaining: Int
    private var isOwnGone = false
    /// The most hopeful end so far.
    private var best: Outcome?

    /// How asking one of them ended.
    package struct Outcome: Hashable, Sendable {
        package var failure: TransferFailure
        package var retryAfter: RetryAfter?
        /// Whether the task's own URL was asked.
        package var isOwn: Bool
        /// The tasks that the failure is held against.
        package var blame: Blame
    }

    /// - Parameters:
    ///   - bytes: the URL that the bytes here came from; nil where there are none.
    ///   - wrong: those that have sent another file: 0 is the task's own URL, 1 the first mirror.
    package init(own: String, mirrors: [String], bytes: String?, wrong: [Int] = []) {
        urls = [own] + mirrors
        self.wrong = Set(wrong)
        let right = urls.indices.filter { !wrong.contains($0) }
        let first = bytes.flatMap(urls.firstIndex) ?? right.first ?? 0
        index = first
        remaining = right.filter { $0 != first }.count
    }

    package var url: String { urls[index] }

    /// All of them, the one that is asked first.
    package var all: [String] { [url] + urls.indices.filter { $0 != index && !wrong.contains($0) }.map { urls[$0] } }

    package var isOwn: Bool { index == 0 }

    /// The mirror that is asked.
    package var mirror: String? { isOwn ? nil : url }

    /// Whether none has failed yet.
    package var isFirst: Bool { best == nil }

    package var isLast: Bool { remaining == 0 }

    /// Whether bytes that are here may be given up for what this URL has. A mirror only goes on with them, unless they are its
    /// own, or the file is gone where it belongs.
    ///
    /// - Parameter bytes: the URL that they came from; nil where there are none.
    package func mayRestart(bytes: String?) -> Bool { isOwn || isOwnGone || bytes == nil || bytes == url }

    /// Records how the request to the present URL ended, and moves on to the next URL.
    ///
    /// - Returns: nil where there is a next one, else what the round comes to: the task's own URL before the mirrors, and what
    ///   may pass before what will not.
    package mutating func advance(
        _ failure: TransferFailure, _ retryAfter: RetryAfter?, _ blame: Blame = .nobody
    ) -> Outcome? {
        let outcome = Outcome(failure: failure, retryAfter: retryAfter, isOwn: isOwn, blame: blame)
        if isOwn { isOwnGone = failure.code == .httpStatus }
        if best.map({ Self.rank(outcome) <= Self.rank($0) }) ?? true { best = outcome }
        guard remaining > 0 else { return best }
        remaining -= 1
        repeat { index = (index + 1) % urls.count } while wrong.contains(index)
        return nil
    }

    private static func rank(_ outcome: Outcome) -> Int {
        (outcome.failure.isPermanent ? 2 : 0) + (outcome.isOwn ? 0 : 1)
    }
}
