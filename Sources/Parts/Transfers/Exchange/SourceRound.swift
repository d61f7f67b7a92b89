package import NightshiftAPI

/// The order in which a download's URLs are tried, each once, before the task waits or fails.
///
/// The first is the URL that the bytes on disk came from, because the download can continue there without a comparison
/// of bytes. If no bytes are on disk, the first is the task's own URL.
package struct SourceRound: Hashable, Sendable {
    /// The task's own URL, then its mirrors.
    private let urls: [String]
    /// The indices of URLs that are skipped because they have sent a wrong file as a whole.
    private let wrong: Set<Int>
    private var index: Int
    private var remaining: Int
    private var isOwnGone = false
    /// The best outcome so far. The task's own URL ranks above mirrors, and temporary failures rank above permanent
    /// failures.
    private var best: Outcome?

    /// The outcome of a request to one URL.
    package struct Outcome: Hashable, Sendable {
        package var failure: TransferFailure
        package var retryAfter: RetryAfter?
        /// Whether the request went to the task's own URL.
        package var isOwn: Bool
        /// The tasks that wait because of the failure.
        package var attribution: FailureAttribution
    }

    /// Creates a round that begins with the URL of the bytes on disk, or with the task's own URL.
    ///
    /// - Parameters:
    ///   - bytes: the URL that the bytes on disk came from; nil without bytes.
    ///   - wrong: the URLs that have sent a wrong file: 0 is the task's own URL, 1 the first mirror.
    package init(own: String, mirrors: [String], bytes: String?, wrong: [Int] = []) {
        urls = [own] + mirrors
        self.wrong = Set(wrong)
        let right = urls.indices.filter { !wrong.contains($0) }
        let first = bytes.flatMap(urls.firstIndex) ?? right.first ?? 0
        index = first
        remaining = right.filter { $0 != first }.count
    }

    package var url: String { urls[index] }

    /// All URLs of the round, beginning with the current one.
    package var all: [String] { [url] + urls.indices.filter { $0 != index && !wrong.contains($0) }.map { urls[$0] } }

    package var isOwn: Bool { index == 0 }

    /// The current URL if it is a mirror.
    package var mirror: String? { isOwn ? nil : url }

    /// Whether no URL has failed yet.
    package var isFirst: Bool { best == nil }

    package var isLast: Bool { remaining == 0 }

    /// Returns whether bytes on disk may be discarded for the file at this URL. Bytes are not discarded for a mirror,
    /// with two exceptions: they came from this mirror, or the task's own URL answered with an error status.
    ///
    /// - Parameter bytes: the URL that the bytes came from; nil without bytes.
    package func mayRestart(bytes: String?) -> Bool { isOwn || isOwnGone || bytes == nil || bytes == url }

    /// Records how the request to the current URL ended, and moves on to the next URL.
    ///
    /// - Returns: nil if there is a next URL; otherwise the outcome of the round. The task's own URL is preferred over
    ///   mirrors, and temporary failures over permanent ones.
    package mutating func advance(
        _ failure: TransferFailure, _ retryAfter: RetryAfter?, _ attribution: FailureAttribution = .nobody
    ) -> Outcome? {
        let outcome = Outcome(failure: failure, retryAfter: retryAfter, isOwn: isOwn, attribution: attribution)
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
