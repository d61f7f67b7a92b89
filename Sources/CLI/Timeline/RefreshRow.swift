import Foundation
import NightshiftAPI

/// How fresh an app was for its user: its background fetches, when it was opened, and how long what it had was new.
struct RefreshRow: Hashable, Sendable {
    /// What came of each; nil for one that was under way at the end.
    private(set) var fetches: [Timeline.Span<RefreshResult?>] = []
    /// The times of use, in order, with what its user found at the beginning of each.
    private(set) var uses: [Timeline.Span<Found>] = []
    /// When what the app had was not older than ``freshness``; in order, without overlaps.
    private(set) var fresh: [DateInterval] = []

    /// What its user found on opening the app.
    enum Found: String, Sendable, CaseIterable {
        case fresh
        case stale
        /// The drawing begins too late to tell, or the app is not fetched for.
        case unknown

        var words: String {
            switch self {
            case .fresh: "opened, content fresh"
            case .stale: "opened, content not fresh"
            case .unknown: "opened"
            }
        }
    }

    /// So long after a fetch, or after it was used, an app counts as fresh: docs/decisions/0036.
    static let freshness = 3_600.0

    var isEmpty: Bool { fetches.isEmpty && uses.isEmpty }

    func count(_ result: RefreshResult) -> Int { fetches.count { $0.value == result } }

    func count(_ found: Found) -> Int { uses.count { $0.value == found } }

    /// "3 fetches: 2 new data, 1 failed; 4 of 5 openings with fresh content"; nil if there were no fetches and no uses.
    var sentence: String? {
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

/// Puts a ``RefreshRow`` together from the journal, one entry after the other.
struct RefreshTrack: Sendable {
    private var row = Draft()
    /// Since when it is known, if it is, that nobody has said whether it is in use.
    private var untoldSince: Date?
    private var usedSince: Date?
    private var fetchedSince: (time: Date, note: String?)?

    private struct Draft {
        var fetches: [Timeline.Span<RefreshResult?>] = []
        var uses: [Timeline.Span<RefreshRow.Found>] = []
    }

    /// - Parameter start: nothing is known of its use before.
    init(from start: Date) {
        untoldSince = start
    }

    /// The service is not known to run from one moment to the other.
    mutating func end(at time: Date, nextAt next: Date) {
        if let usedSince { use(usedSince, time) }
        usedSince = nil
        untoldSince = next
    }

    /// Its use up to now is forgotten.
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
            // One that had begun before anything was known.
            if let from = usedSince ?? untoldSince { use(from, time) }
            untoldSince = nil
            usedSince = nil
        // A task for refresh is a fetch that the app has asked for.
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

    /// - Parameter unknownUntil: moments before which nothing is known.
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
    /// - Parameters:
    ///   - uses: their values are found here.
    ///   - unknownUntil: moments before which nothing is known.
    init(
        fetches: [Timeline.Span<RefreshResult?>], uses: [Timeline.Span<Found>], unknownUntil: [Date], to end: Date
    ) {
        self.fetches = fetches
        self.uses = uses
        // Nobody has promised that an app is fresh that is not fetched for.
        guard !fetches.isEmpty else { return }
        // What makes fresh, with the time from which it does and the one from which its hour is counted.
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
    /// Whether it is about a scheduled task for refresh.
    var isOfRefresh: Bool { inputs?["kind"] == ScheduledTask.Kind.refresh.rawValue }
}
