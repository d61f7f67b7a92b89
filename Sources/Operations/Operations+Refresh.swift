import Apps
package import NightshiftAPI
import Refresh

/// Operations of apps' processes, and of people on apps, over background refresh.
extension Operations {
    // MARK: - What a process asks

    /// The app of the process says how long it wants to be left alone after each fetch.
    package func setInterval(
        _ interval: RefreshInterval, process: Int32, channel: String?
    ) async throws(Problem) {
        try await refresh.setInterval(interval, for: try caller(process, channel, refusing: .launches))
    }

    /// The tasks of the process's app that wait.
    package func scheduledTasks(process: Int32, channel: String?) async throws(Problem) -> [ScheduledTask] {
        try await refresh.scheduledTasks(of: try caller(process, channel, refusing: .launches))
    }

    package func submit(_ task: ScheduledTask, process: Int32, channel: String?) async throws(Problem) {
        let app = try await caller(process, channel, refusing: .launches)
        let state = try await apps.app(app).state
        try await refresh.submit(task, for: app, isInFront: state == .active || state == .inactive)
    }

    /// Cancels a task that waits; all of the app's where none is named.
    package func cancel(_ identifier: String?, process: Int32, channel: String?) async throws(Problem) {
        try await refresh.cancel(identifier, of: try caller(process, channel, refusing: .launches))
    }

    package func progress(
        _ identifier: String, _ progress: ScheduledTaskProgress, process: Int32, channel: String?
    ) async throws(Problem) {
        try await refresh.progress(identifier, progress, of: try caller(process, channel, refusing: .launches))
    }

    // MARK: - What people ask

    /// Submits a task for an app. Its continued tasks are its own to submit, in front of its user.
    package func submit(_ task: ScheduledTask, for app: AppID) async throws(Problem) {
        guard task.kind != .continued else {
            throw .invalid(
                "A continued task is submitted by the app itself, in front of its user.", pointer: "/kind")
        }
        try await refresh.submit(task, for: app, isInFront: false)
    }

    /// Cancels a task that waits, or ends a continued one that runs.
    package func cancel(_ identifier: String, of app: AppID) async throws(Problem) {
        try await refresh.cancelForUser(identifier, of: app)
    }

    /// Fires the expiration handlers of what an app was woken for, or of one task, as if time were nearly over.
    @discardableResult
    package func expire(_ app: AppID, _ request: ExpirationRequest) async throws(Problem) -> AppRefreshStatus {
        let wakes = try await apps.app(app).wakes.filter { wake in
            let source = wake.reason.source
            guard let identifier = request.identifier else { return source.hasExpiration }
            return source.hasExpiration && wake.key == identifier
        }
        guard !wakes.isEmpty else {
            throw .conflict(
                "Nothing of \(app) is under way that could expire\(request.identifier.map { " as '\($0)'" } ?? "").")
        }
        for wake in wakes { try await apps.expire(app, wake.reason.source, key: wake.key ?? "") }
        return try await refresh.status(of: app)
    }
}

extension WakeSource {
    /// Whether the app can be told that the time of such a wake is nearly over.
    fileprivate var hasExpiration: Bool {
        switch self {
        case .fetch, .processing, .continued: true
        case .session, .push, .region, .significantChange, .response: false
        }
    }
}
