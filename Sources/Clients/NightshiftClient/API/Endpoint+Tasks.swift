package import Foundation
package import NightshiftAPI

/// A filter for a list of transfers. By default, it matches all transfers.
package struct TaskFilter: Hashable, Sendable {
    package var tasks: [TaskID]
    package var states: [TaskState]
    package var session: SessionID?

    package init(tasks: [TaskID] = [], states: [TaskState] = [], session: SessionID? = nil) {
        self.tasks = tasks
        self.states = states
        self.session = session
    }
}

extension Endpoint where Answer == TaskPage {
    /// Reads a page of the transfers after a given one, in the order of their ids.
    package static func tasks(_ filter: TaskFilter, after last: TaskID? = nil) -> Self {
        Self(
            .get,
            APIPath("tasks").query("task", list: filter.tasks.map(\.description))
                .query("state", list: filter.states.map(\.rawValue)).query("session", filter.session?.rawValue)
                .query("after", last?.rawValue).query("limit", Int64(Limits.pageSize)))
    }
}

extension Endpoint where Answer == EnqueueResponse {
    package static func enqueue(_ request: EnqueueRequest) -> Self { Self(.post, APIPath("tasks"), request) }
}

extension Endpoint where Answer == TaskStatus {
    package static func task(_ id: TaskID) -> Self { Self(.get, path(id)) }

    package static func changeTask(_ id: TaskID, _ change: TaskChange) -> Self { Self(.patch, path(id), change) }

    package static func suspend(_ id: TaskID) -> Self { Self(.post, path(id, "suspend")) }

    package static func resume(_ id: TaskID) -> Self { Self(.post, path(id, "resume")) }

    package static func cancel(_ id: TaskID, _ request: CancelRequest) -> Self {
        Self(.post, path(id, "cancel"), request, mayBeNewer: true)
    }

    package static func retarget(_ id: TaskID, _ request: RetargetRequest) -> Self {
        Self(.post, path(id, "retarget"), request)
    }

    private static func path(_ id: TaskID) -> APIPath { APIPath("tasks", id.description) }

    private static func path(_ id: TaskID, _ action: String) -> APIPath { APIPath("tasks", id.description, action) }
}

extension Endpoint where Answer == Explanation {
    package static func why(_ id: TaskID) -> Self { Self(.get, APIPath("tasks", id.description, "why")) }
}

extension Endpoint where Answer == Data {
    /// Reads the downloaded file of a transfer without a destination.
    package static func content(of id: TaskID) -> Endpoint<Data> {
        Self(bytesAt: APIPath("tasks", id.description, "content"))
    }
}

extension Endpoint where Answer == TaskActionAnswer {
    package static func act(_ request: TaskActionRequest) -> Self { Self(.post, APIPath("actions"), request) }
}

extension Endpoint where Answer == RetryResponse {
    package static func retry(_ request: RetryRequest) -> Self { Self(.post, APIPath("retry"), request) }
}
