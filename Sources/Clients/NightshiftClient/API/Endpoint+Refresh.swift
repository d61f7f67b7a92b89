package import NightshiftAPI

// These requests concern background refresh. Some are for people, and some are for an app's process.

extension Endpoint where Answer == RefreshStatus {
    package static var refresh: Self { Self(.get, APIPath("refresh")) }

    package static func changeRefresh(_ change: RefreshChange) -> Self { Self(.patch, APIPath("refresh"), change) }

    /// A request that deletes the learned usage of all apps.
    package static var forgetLearned: Self { Self(.post, APIPath("forget-use")) }
}

extension Endpoint where Answer == AppRefreshStatus {
    package static func refresh(of id: AppID) -> Self { Self(.get, APIPath("refresh", id.rawValue)) }

    package static func changeRefresh(of id: AppID, _ change: AppRefreshChange) -> Self {
        Self(.patch, APIPath("refresh", id.rawValue), change)
    }

    /// Starts a fetch now.
    package static func fetch(_ id: AppID) -> Self { Self(.post, APIPath("refresh", id.rawValue, "fetch")) }

    package static func forgetLearned(of id: AppID) -> Self {
        Self(.post, APIPath("refresh", id.rawValue, "forget"))
    }

    package static func expire(_ id: AppID, _ request: ExpirationRequest) -> Self {
        Self(.post, APIPath("refresh", id.rawValue, "expire"), request)
    }
}

extension Endpoint where Answer == ScheduledTaskList {
    package static func scheduledTasks(of id: AppID) -> Self {
        Self(.get, APIPath("refresh", id.rawValue, "scheduled-tasks"))
    }

    /// A request for the waiting scheduled tasks of the calling app.
    package static var scheduledTasks: Self { Self(.get, APIPath("process", "scheduled-tasks")) }
}

extension Endpoint where Answer == Void {
    package static func submit(_ task: ScheduledTask, for id: AppID) -> Self {
        Self(.post, APIPath("refresh", id.rawValue, "scheduled-tasks"), task)
    }

    package static func cancelScheduledTask(_ identifier: String, of id: AppID) -> Self {
        Self(.delete, APIPath("refresh", id.rawValue, "scheduled-tasks", identifier))
    }

    package static func setInterval(_ interval: RefreshInterval) -> Self {
        Self(.put, APIPath("process", "refresh"), RefreshRequest(interval: interval))
    }

    package static func submit(_ task: ScheduledTask) -> Self {
        Self(.post, APIPath("process", "scheduled-tasks"), task)
    }

    /// Cancels waiting scheduled tasks of the calling app.
    ///
    /// - Parameter identifier: The identifier of the scheduled task; nil for all waiting scheduled tasks.
    package static func cancelScheduledTask(_ identifier: String?) -> Self {
        Self(
            .delete,
            identifier.map { APIPath("process", "scheduled-tasks", $0) } ?? APIPath("process", "scheduled-tasks"))
    }

    package static func report(_ progress: ScheduledTaskProgress, ofTask identifier: String) -> Self {
        Self(.patch, APIPath("process", "scheduled-tasks", identifier), progress)
    }
}
