package import Foundation
package import NightshiftAPI

// These requests concern the service itself, its settings and its journal.

extension Endpoint where Answer == ServiceStatus {
    package static var status: Self { Self(.get, APIPath("status")) }
}

extension Endpoint where Answer == ServiceSettings {
    package static var settings: Self { Self(.get, APIPath("settings")) }

    package static func changeSettings(_ change: ServiceSettings) -> Self {
        Self(.patch, APIPath("settings"), change)
    }
}

extension Endpoint where Answer == Void {
    package static var shutdown: Self { Self(.post, APIPath("shutdown")) }
}

extension Endpoint where Answer == JournalPage {
    /// Reads a page of the journal after a given entry.
    package static func journal(
        after last: Int64, task: TaskID? = nil, app: AppID? = nil, since: Date? = nil
    ) -> Self {
        Self(
            .get,
            APIPath("journal").query("after", last).query("limit", Int64(Limits.pageSize))
                .query("task", task?.rawValue).query("app", app?.rawValue)
                .query("since", since?.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))
    }
}

extension Endpoint where Answer == SessionList {
    package static var sessions: Self { Self(.get, APIPath("sessions")) }
}
