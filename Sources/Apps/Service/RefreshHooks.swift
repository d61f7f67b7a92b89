package import NightshiftAPI

extension AppService {
    /// What background refresh hears of apps, in the order in which it happened. How their wakes ended it reads from the store.
    ///
    /// Nobody waits for it but who connects. A service that starts tells anew who is force-quit and who is in front.
    package struct RefreshHooks: Sendable {
        /// The app came to the front of its user, or left it.
        package var use: @Sendable (AppID, _ isInFront: Bool) async -> Void
        /// Its user has ended it for good: nothing before its user starts it.
        package var forceQuit: @Sendable (AppID) async -> Void
        /// Its user, or another program, has launched it in front.
        package var launched: @Sendable (AppID) async -> Void
        /// Its entry was installed or has changed, and says this now; nil where it was removed.
        package var installed: @Sendable (AppID, AppManifest?) async -> Void
        /// The end of a wake is on disk.
        package var wakesEnded: @Sendable () async -> Void
        /// Whether the app is refreshed in the background: asked when a process of it connects. Changes come by
        /// ``AppService/tell(_:_:)``.
        package var availability: @Sendable (AppID) async -> RefreshAvailability

        package init(
            use: @escaping @Sendable (AppID, _ isInFront: Bool) async -> Void = { _, _ in },
            forceQuit: @escaping @Sendable (AppID) async -> Void = { _ in },
            launched: @escaping @Sendable (AppID) async -> Void = { _ in },
            installed: @escaping @Sendable (AppID, AppManifest?) async -> Void = { _, _ in },
            wakesEnded: @escaping @Sendable () async -> Void = {},
            availability: @escaping @Sendable (AppID) async -> RefreshAvailability = { _ in .restricted }
        ) {
            self.use = use
            self.forceQuit = forceQuit
            self.launched = launched
            self.installed = installed
            self.wakesEnded = wakesEnded
            self.availability = availability
        }
    }
}
