import Foundation
import NightshiftAPI
import NightshiftClient

/// A source of timelines. It keeps a copy of the journal, so that each request reads only new entries.
actor TimelineSource {
    private let client: ServiceClient
    private var copy: JournalCopy?

    init(client: ServiceClient) {
        self.client = client
    }

    func timeline(_ query: TimelineQuery, now: Date) async throws -> Timeline {
        let start = now.addingTimeInterval(-query.seconds)
        // A request that arrives during the read makes a copy of its own.
        let known = copy
        copy = nil
        let newest = try await client.send(.status).lastJournalEntry
        var journal = known.flatMap { $0.start <= start && $0.last <= newest ? $0 : nil } ?? JournalCopy(start: start)
        if try await !journal.read(from: client) {
            journal = JournalCopy(start: start)
            _ = try await journal.read(from: client)
        }
        journal.forget(before: start)
        copy = journal
        // If the service cannot report the device state, the timeline is drawn only from the journal.
        let device = try? await client.send(.device)
        return TimelineReader.timeline(
            journal.entries, span: DateInterval(start: start, end: now), apps: query.app.map { [$0] } ?? [],
            current: device)
    }
}

/// The journal entries since a time: in order, each once, and without a gap.
private struct JournalCopy: Sendable {
    private(set) var start: Date
    private(set) var entries: [JournalEntry] = []
    /// The id of the last entry that was read.
    private(set) var last: Int64 = 0

    init(start: Date) {
        self.start = start
    }

    /// Reads the new entries. Returns false if the copy contains entries that the service has deleted: a deletion of
    /// the learned use also deletes earlier entries.
    mutating func read(from client: ServiceClient) async throws -> Bool {
        let isNew = last == 0
        var isValid = true
        while true {
            // After the first page, only `after` selects the entries.
            let page = try await client.send(.journal(after: last, since: last == 0 ? start : nil))
            guard let entry = page.entries.last else { return isValid }
            isValid = isValid && (isNew || !page.entries.contains { $0.decision == .learnedForgotten })
            last = entry.id
            entries += page.entries
        }
    }

    mutating func forget(before time: Date) {
        start = time
        entries.removeFirst(entries.firstIndex { $0.time >= time } ?? entries.count)
    }
}
