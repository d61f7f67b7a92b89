package import NightshiftAPI

extension AppService {
    /// What another part of the service hears of apps, in the order in which it happened, and what it has to tell their
    /// processes. How their wakes ended it reads from the store.
    ///
    /// Nobody waits for it but who connects, installs or removes. A service that starts tells anew who is force-quit and
    /// who is in front.
    package struct PartHooks: Sendable {
        /// The app came to the front of its user, or left it.
        package var use: @Sendable (AppID, _ isInFront: Bool) async -> Void
        /// Its user has ended it for good: nothing before its user starts it.
        package var forceQuit: @Sendable (AppID) async -> Void
        /// Its user, or another program, has launched it in front.
        package var launched: @Sendable (AppID) async -> Void
        /// Its process stands still, so that nobody needs to tell it anything, or runs again.
        package var suspended: @Sendable (AppID, _ isSuspended: Bool) async -> Void
        /// Its entry was installed or has changed, and says this now; nil where it was removed.
        package var installed: @Sendable (AppID, AppManifest?) async -> Void
        /// The end of a wake is on disk.
        package var wakesEnded: @Sendable () async -> Void
        /// What a process of the app that connects has to know, each kind of notice once at most. Changes come by
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

        /// Several parts as one: each hears of everything, one after the other in this order.
        package init(_ parts: [PartHooks]) {
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
