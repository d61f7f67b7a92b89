package import NightshiftAPI

/// The changes whose response is the resulting status.
extension RefreshService {
    /// Deletes the learned use of all apps and of the device.
    package func forgetAll() async throws(Problem) -> RefreshStatus {
        try await forget(nil)
        return try await status()
    }

    /// Deletes the learned use of one app.
    package func forgetUse(of app: AppID) async throws(Problem) -> AppRefreshStatus {
        try await forget(app)
        return try await status(of: app)
    }
}
