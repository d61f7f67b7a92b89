package import NightshiftAPI

extension AppService {
    /// Reports about apps to another feature of the service, in the order of the events, and its notices for their
    /// processes. The feature reads the ends of wakes from the store.
    ///
    /// Nothing waits for the feature except connecting, installing and removing. When the service starts, it reports
    /// again which apps are force-quit and which are in the foreground.
    package struct FeatureHooks: Sendable {
        /// The app came to the foreground or left it.
        package var use: @Sendable (AppID, _ isInFront: Bool) async -> Void
        /// The user has force-quit the app: it must not be woken before the user starts it.
        package var forceQuit: @Sendable (AppID) async -> Void
        /// The user, or another program, has launched the app in the foreground.
        package var launched: @Sendable (AppID) async -> Void
        /// The app's process was suspended, so that it needs no notices, or it runs again.
        package var suspended: @Sendable (AppID, _ isSuspended: Bool) async -> Void
        /// The app's entry was installed or changed, and has this content now; nil if it was removed.
        package var installed: @Sendable (AppID, AppManifest?) async -> Void
        /// The end of a wake is on disk.
        package var wakesEnded: @Sendable () async -> Void
        /// Returns the notices for a process of the app that connects, at most one of each kind. Changes are sent with
        /// ``AppService/tell(_:_:)``.
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

        /// Combines several features: each gets every report, in this order.
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
