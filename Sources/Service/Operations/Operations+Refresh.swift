import Apps
package import NightshiftAPI
import Refresh

/// Operations of app processes and of users that concern background refresh.
extension Operations {
    // MARK: - Requests of processes

    /// Sets the minimum interval between fetches of the process's app.
    package func setInterval(
        _ interval: RefreshInterval, by process: CallingProcess
    ) async throws(Problem) {
        try await refresh.setInterval(interval, for: try caller(process, refusing: .launches))
    }

    /// Returns the waiting scheduled tasks of the process's app.
    package func scheduledTasks(by process: CallingProcess) async throws(Problem) -> [ScheduledTask] {
        try await refresh.scheduledTasks(of: try caller(process, refusing: .launches))
    }

    package func submit(_ task: ScheduledTask, by process: CallingProcess) async throws(Problem) {
        let app = try await caller(process, refusing: .launches)
        let state = try await apps.app(app).state
        try await refresh.submit(task, for: app, isInFront: state == .active || state == .inactive)
    }

    /// Cancels a waiting scheduled task, or all of the app's waiting scheduled tasks if the identifier is nil.
    package func cancel(_ identifier: String?, by process: CallingProcess) async throws(Problem) {
        try await refresh.cancel(identifier, of: try caller(process, refusing: .launches))
    }

    package func progress(
        _ identifier: String, _ progress: ScheduledTaskProgress, by process: CallingProcess
    ) async throws(Problem) {
        try await refresh.progress(identifier, progress, of: try caller(process, refusing: .launches))
    }

    // MARK: - Requests of users

    /// Submits a scheduled task for an app. Only the app itself can submit a continued task, and only in the
    /// foreground.
    package func submit(_ task: ScheduledTask, for app: AppID) async throws(Problem) {
        guard task.kind != .continued else {
            throw .invalid(
                "Only the app itself can submit a continued task, while it is in the foreground.", pointer: "/kind")
        }
        try await refresh.submit(task, for: app, isInFront: false)
    }

    /// Cancels a waiting scheduled task, or ends a running continued task.
    package func cancel(_ identifier: String, of app: AppID) async throws(Problem) {
        try await refresh.cancelForUser(identifier, of: app)
    }

    /// Calls the expiration handlers of the app's current wakes, or of one scheduled task, as if their time were nearly
    /// over.
    @discardableResult
    package func expire(_ app: AppID, _ request: ExpirationRequest) async throws(Problem) -> AppRefreshStatus {
        let wakes = try await apps.app(app).wakes.filter { wake in
            let source = wake.reason.source
            guard let identifier = request.identifier else { return source.rules.isWarned }
            return source.rules.isWarned && wake.key == identifier
        }
        guard !wakes.isEmpty else {
            throw .conflict(
                request.identifier.map { "\(app) is not running a scheduled task with the identifier '\($0)'." }
                    ?? "\(app) has no running work that can expire.")
        }
        for wake in wakes { try await apps.expire(app, wake.reason.source, key: wake.key ?? "") }
        return try await refresh.status(of: app)
    }
}
