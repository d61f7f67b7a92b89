package import NightshiftAPI

extension AppService {
    /// The calls between the app service and another feature of the service: reports about apps, in the order of the
    /// events, and requests for the feature's notices. The feature reads the ends of wakes from the store.
    ///
    /// The app service waits for the feature only when a process connects, and when an app is installed or removed.
    /// When the service starts, it reports again which apps are force-quit and which are in the foreground.
    package struct FeatureHooks: Sendable {
        /// Reports that the app came to the foreground or left it.
        package var use: @Sendable (AppID, _ isInFront: Bool) async -> Void
        /// Reports that the user has force-quit the app. The feature must not wake it until the user starts it.
        package var forceQuit: @Sendable (AppID) async -> Void
        /// Reports that the user, or another program, has launched the app in the foreground.
        package var launched: @Sendable (AppID) async -> Void
        /// Reports that the app's process was suspended, and so needs no notices, or that it runs again.
        package var suspended: @Sendable (AppID, _ isSuspended: Bool) async -> Void
        /// Reports that the app's entry was installed or changed, with its new content; nil if it was removed.
        package var installed: @Sendable (AppID, AppManifest?) async -> Void
        /// Reports that the ends of wakes are on disk.
        package var wakesEnded: @Sendable () async -> Void
        /// Returns the feature's notices for a connecting process of the app, at most one of each kind. Later changes
        /// are sent with ``AppService/tell(_:_:)``.
        package var notices: @Sendable (AppID) async -> [ProcessEvent]

        package init(
            use: @escaping @Sendable (AppID, _ isInFront: Bool) async -> Void = { _, _ in },
            forceQuit: @escaping @Sendable (AppID) async -> Void = { _ in },
            launched: @escaping @Sendable (AppID) async -> Void = { _ in },
            suspended: @escaping @Sendable (AppID, _ isSuspended: Bool) async -> Void = { _, _ in },
            installed: @escaping @Sendable (AppID, AppManifest?) async -> Void = { _, _ in },
            wakesEnded: @escaping @Sendable () async -> Void = {},
            notices: @escaping @Sendable (AppID) async -> [ProcessEvent] = { _ in [] }
        ) {
            self.use = use
            self.forceQuit = forceQuit
            self.launched = launched
            self.suspended = suspended
            self.installed = installed
            self.wakesEnded = wakesEnded
            self.notices = notices
        }

        /// Combines several features. Each feature gets every report, in this order.
        package init(_ parts: [FeatureHooks]) {
            self.init(
                use: { id, isInFront in for part in parts { await part.use(id, isInFront) } },
                forceQuit: { id in for part in parts { await part.forceQuit(id) } },
                launched: { id in for part in parts { await part.launched(id) } },
                suspended: { id, isSuspended in for part in parts { await part.suspended(id, isSuspended) } },
                installed: { id, manifest in for part in parts { await part.installed(id, manifest) } },
                wakesEnded: { for part in parts { await part.wakesEnded() } },
                notices: { id in
                    var notices: [ProcessEvent] = []
                    for part in parts { notices += await part.notices(id) }
                    return notices
                })
        }
    }
}
