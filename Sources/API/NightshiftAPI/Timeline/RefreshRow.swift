package import Foundation

/// A row about one app's content: its background fetches, its uses, and the times at which its content was fresh.
package struct RefreshRow: Hashable, Sendable {
    /// The fetches with their results. The result is nil for a fetch that was still running at the end.
    package private(set) var fetches: [Timeline.Span<RefreshResult?>] = []
    /// The uses of the app in order, each with the freshness of the content when it began.
    package private(set) var uses: [Timeline.Span<Found>] = []
    /// The times at which the content was at most ``freshness`` old, in order and without overlaps.
    package private(set) var fresh: [DateInterval] = []

    /// The freshness of the content when the user opened the app.
    package enum Found: String, Sendable, Encodable, CaseIterable {
        case fresh
        case stale
        /// The value for an app without background refresh, or if the journal does not reach back far enough.
        case unknown

        package var words: String {
            switch self {
            case .fresh: "opened, content fresh"
            case .stale: "opened, content not fresh"
            case .unknown: "opened"
            }
        }
    }

    /// The number of seconds after a fetch or a use for which content counts as fresh. See docs/decisions/0036.
    package static let freshness = 3_600.0

    package var isEmpty: Bool { fetches.isEmpty && uses.isEmpty }

    package func count(_ result: RefreshResult) -> Int { fetches.count { $0.value == result } }

    package func count(_ found: Found) -> Int { uses.count { $0.value == found } }

    /// A summary such as "3 fetches: 2 new data, 1 failed; 4 of 5 openings with fresh content", or nil if there were no
    /// fetches and no uses.
    package var sentence: String? {
        guard !isEmpty else { return nil }
        var parts: [String] = []
        if !fetches.isEmpty {
            let results = RefreshResult.allCases.map { (count($0), $0.words) }.filter { $0.0 > 0 }
            let list = results.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
            let total = "\(fetches.count) \(fetches.count == 1 ? "fetch" : "fetches")"
            parts.append(list.isEmpty ? total : "\(total): \(list)")
        }
        let judged = count(.fresh) + count(.stale)
        if judged > 0 { parts.append("\(count(.fresh)) of \(judged) openings with fresh content") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}

/// A reader that builds a ``RefreshRow`` from the journal, entry by entry.
struct RefreshTrack: Sendable {
    private var row = Draft()
    /// The time since which the use of the app is unknown, or nil if the use is known.
    private var untoldSince: Date?
    private var usedSince: Date?
    private var fetchedSince: (time: Date, note: String?)?

    private struct Draft {
        var fetches: [Timeline.Span<RefreshResult?>] = []
        var uses: [Timeline.Span<RefreshRow.Found>] = []
    }

    /// Creates a reader.
    ///
    /// - Parameter start: the time before which the use of the app is unknown.
    init(from start: Date) {
        untoldSince = start
    }

    /// Handles the end of a run of the service. Between `time` and `next`, the use of the app is unknown.
    mutating func end(at time: Date, nextAt next: Date) {
        if let usedSince { use(usedSince, time) }
        usedSince = nil
        untoldSince = next
    }

    /// Handles the deletion of the learned use: the use of the app before `time` is unknown.
    mutating func forget(at time: Date) {
        row.uses = []
        usedSince = nil
        untoldSince = time
    }

    mutating func read(_ entry: JournalEntry) {
        let time = entry.time
        switch entry.decision {
        case .useBegan:
            untoldSince = nil
            usedSince = usedSince ?? time
        case .useEnded:
            // The use may have begun before the first time for which it is known.
            if let from = usedSince ?? untoldSince { use(from, time) }
            untoldSince = nil
            usedSince = nil
        // A scheduled refresh task counts as a fetch.
        case .fetchBegan, .taskBegan:
            fetchedSince = (time, entry.detail)
        case .fetchEnded, .taskEnded:
            let from = fetchedSince?.time ?? time
            let result = entry.inputs?["result"].flatMap(RefreshResult.init(rawValue:))
            row.fetches.append(
                Timeline.Span(from: from, to: max(from, time), value: result, note: entry.detail ?? fetchedSince?.note))
            fetchedSince = nil
        default: break
        }
    }

    private mutating func use(_ from: Date, _ to: Date) {
        row.uses.append(Timeline.Span(from: from, to: max(from, to), value: .unknown))
    }

    /// Returns the row at the end of the journal.
    ///
    /// - Parameter unknownUntil: the times before which the use is unknown.
    mutating func finish(at end: Date, unknownUntil: [Date]) -> RefreshRow {
        if let usedSince { use(usedSince, end) }
        if let fetchedSince, end > fetchedSince.time {
            row.fetches.append(
                Timeline.Span(from: fetchedSince.time, to: end, value: nil, note: fetchedSince.note))
        }
        return RefreshRow(fetches: row.fetches, uses: row.uses, unknownUntil: unknownUntil, to: end)
    }
}

extension RefreshRow {
    /// Creates a row, and determines the freshness of the content for each use.
    ///
    /// - Parameters:
    ///   - uses: the uses of the app. Their values are replaced.
    ///   - unknownUntil: the times before which the use is unknown.
    init(
        fetches: [Timeline.Span<RefreshResult?>], uses: [Timeline.Span<Found>], unknownUntil: [Date], to end: Date
    ) {
        self.fetches = fetches
        self.uses = uses
        // The content of an app without fetches is not expected to be fresh.
        guard !fetches.isEmpty else { return }
        // The content is fresh after a fetch or a use. It is fresh from `from` until an hour after `to`.
        let fetched = fetches.filter { $0.value == .newData || $0.value == .noData }.map { (from: $0.to, to: $0.to) }
        let sources = (fetched + uses.map { (from: $0.from, to: $0.to) }).sorted { $0.from < $1.from }
        for source in sources {
            let until = min(end, source.to.addingTimeInterval(Self.freshness))
            guard until > source.from else { continue }
            if let last = fresh.last, source.from <= last.end {
                fresh[fresh.count - 1].end = max(last.end, until)
            } else {
                fresh.append(DateInterval(start: source.from, end: until))
            }
        }
        self.uses = uses.map { use in
            let isFresh = sources.contains { source in
                source.from < use.from && use.from.timeIntervalSince(source.to) <= Self.freshness
            }
            let isKnown = !unknownUntil.contains { (0..<Self.freshness).contains(use.from.timeIntervalSince($0)) }
            var found = use
            found.value = isFresh ? .fresh : isKnown ? .stale : .unknown
            return found
        }
    }
}

extension JournalEntry {
    /// Whether the entry is about a scheduled refresh task.
    var isOfRefresh: Bool { inputs?["kind"] == ScheduledTask.Kind.refresh.rawValue }
}
