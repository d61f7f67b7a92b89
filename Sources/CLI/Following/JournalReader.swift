import Foundation
import NightshiftAPI
import NightshiftClient

/// Reads the journal page by page, and later on from where it ended.
struct JournalReader: Sendable {
    var service: Service
    var app: AppID?
    var task: TaskID?
    var since: Date?
    /// The last entry that was read.
    private(set) var last: Int64 = 0

    init(service: Service, app: AppID? = nil, task: TaskID? = nil, since: Date? = nil) {
        self.service = service
        self.app = app
        self.task = task
        self.since = since
    }

    /// The next entries, oldest first; nil where there are no more for now.
    mutating func next() async throws -> [JournalEntry]? {
        let page = try await service.client.get(path, as: JournalPage.self)
        guard let entry = page.entries.last else { return nil }
        last = entry.id
        return page.entries
    }

    private var path: String {
        var parts = ["after=\(last)", "limit=\(Limits.pageSize)"]
        if let task { parts.append("task=\(task)") }
        if let app { parts.append("app=\(app.rawValue.percentEncoded)") }
        // Later pages follow from `after` alone.
        if last == 0, let since {
            parts.append(
                "since=\(since.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)).percentEncoded)")
        }
        return "/v1/journal?" + parts.joined(separator: "&")
    }
}
