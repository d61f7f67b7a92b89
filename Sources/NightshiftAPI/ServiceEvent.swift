/// An event of an event stream. Journal entries are numbered and can be requested again; progress events are not and
/// cannot.
package enum ServiceEvent: Hashable, Sendable {
    /// `event: journal`; `id:` is the id of the entry.
    case journal(JournalEntry)
    /// `event: progress`, without an `id:`.
    case progress(TaskProgress)
    /// `event: reset`: entries after the `Last-Event-ID` were deleted. The client must read the transfers again and
    /// continue from `lastEntry`.
    case reset(lastEntry: Int64)

    package var name: String {
        switch self {
        case .journal: "journal"
        case .progress: "progress"
        case .reset: "reset"
        }
    }
}

/// The data of a `reset` event.
package struct StreamReset: Hashable, Sendable, Codable {
    package var lastEntry: Int64

    package init(lastEntry: Int64) {
        self.lastEntry = lastEntry
    }
}
