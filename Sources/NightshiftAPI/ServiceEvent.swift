/// What an event stream carries. Journal entries are numbered and can be asked for again; progress is neither.
package enum ServiceEvent: Hashable, Sendable {
    /// `event: journal`, `id:` the entry's.
    case journal(JournalEntry)
    /// `event: progress`, without an id.
    case progress(TaskProgress)
    /// `event: reset`: entries after the `Last-Event-ID` are gone; read the tasks again and go on from here.
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
