/// An event of an event stream. Journal entries are numbered, and a client can request them again. Progress events have
/// no number and cannot be requested again.
package enum ServiceEvent: Hashable, Sendable {
    /// A journal entry: `event: journal`. The `id:` is the id of the entry.
    case journal(JournalEntry)
    /// The progress of a transfer: `event: progress`, without an `id:`.
    case progress(TaskProgress)
    /// The notice that entries after the `Last-Event-ID` were deleted: `event: reset`. The client must read the
    /// transfers again and continue from `lastEntry`.
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
