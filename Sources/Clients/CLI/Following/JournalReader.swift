import Foundation
import NightshiftAPI
import NightshiftClient

/// A reader of the journal that reads page by page, and later continues where it stopped.
struct JournalReader: Sendable {
    var service: Service
    var app: AppID?
    var task: TaskID?
    var since: Date?
    /// The id of the last entry that was read.
    private(set) var last: Int64 = 0

    init(service: Service, app: AppID? = nil, task: TaskID? = nil, since: Date? = nil) {
        self.service = service
        self.app = app
        self.task = task
        self.since = since
    }

    /// Returns the next entries, oldest first, or nil if the journal has no new entries yet.
    mutating func next() async throws -> [JournalEntry]? {
        let page = try await service.client.send(
            // After the first page, only `after` selects the entries.
            .journal(after: last, task: task, app: app, since: last == 0 ? since : nil))
        guard let entry = page.entries.last else { return nil }
        last = entry.id
        return page.entries
    }
}
