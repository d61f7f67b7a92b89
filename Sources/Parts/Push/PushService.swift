package import Clock
package import Foundation
package import Logging
package import NightshiftAPI
package import NightshiftCurl
import PushProtocol
package import Runtime
package import Store

/// The push feature, which connects to the push gateway and handles each push. It contains all push operations of the
/// local API.
///
/// A ``PushState`` decides about pushes, a ``ConnectionPlan`` decides about the connection, and this actor executes. A
/// push and all changes that follow from it are on disk before it is acknowledged to the gateway. When a method for
/// users or apps returns, its effects are on disk. When it throws, nothing has changed. These methods throw only
/// ``Problem``. See `docs/decisions/0044`.
package actor PushService: PartService {
    /// The store, clock and other dependencies of the service.
    package struct Environment: Sendable {
        package var store: Store
        package var clock: any ServiceClock
        /// The directory that contains the device's key.
        package var state: URL
        package var connect: @Sendable (CurlChannelRequest, any CurlChannelDelegate) -> PushWire
        /// Returns a random number in 0..<1.
        package var random: @Sendable () -> Double
        /// Returns whether background refresh allows an app to be woken.
        package var availability: @Sendable (AppID) async -> RefreshAvailability
        package var notifications: Notifications
        /// The UnifiedPush interface for apps; nil if UnifiedPush is not available.
        package var distribution: Distribution?
        /// Sends a notice to the processes of an app.
        package var tell: @Sendable (AppID, PushNotice) async -> Void
        /// Returns the manifests of installed apps; nil once the app service has stopped.
        package var manifests: @Sendable () async -> [AppManifest]?
        package var logger: Logger

        package init(
            store: Store, clock: any ServiceClock, state: URL,
            connect: @escaping @Sendable (CurlChannelRequest, any CurlChannelDelegate) -> PushWire,
            random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
            availability: @escaping @Sendable (AppID) async -> RefreshAvailability = { _ in .available },
            notifications: Notifications = Notifications(), distribution: Distribution? = nil,
            tell: @escaping @Sendable (AppID, PushNotice) async -> Void = { _, _ in },
            manifests: @escaping @Sendable () async -> [AppManifest]? = { [] }, logger: Logger
        ) {
            self.store = store
            self.clock = clock
            self.state = state
            self.connect = connect
            self.random = random
            self.availability = availability
            self.notifications = notifications
            self.distribution = distribution
            self.tell = tell
            self.manifests = manifests
            self.logger = logger
        }
    }

    /// The interface to the notification service. The push service writes the database rows of notifications, in the
    /// same transaction as their push.
    package struct Notifications: Sendable {
        /// Called when database rows of notifications have been written.
        package var changed: @Sendable () async -> Void
        package var permission: @Sendable (AppID) async -> NotificationPermission

        package init(
            changed: @escaping @Sendable () async -> Void = {},
            permission: @escaping @Sendable (AppID) async -> NotificationPermission = { _ in .ask }
        ) {
            self.changed = changed
            self.permission = permission
        }
    }

    nonisolated let environment: Environment
    package let part: Part<PushStates>
    let entries: EntryReading
    var plan = ConnectionPlan()
    var link: PushLink?
    var lastLink = 0
    var isEnrolling = false
    /// The time of the last known setting of the wall clock, in boot seconds.
    private var clockStandsSince: Double
    package var alarm = Alarm()
    var waiters: [Int: TokenWaiter] = [:]
    var lastWaiter = 0
    private let companions = Mailbox<PushService>()
    /// The ends of connections, with their times, that the next step records.
    var disconnections: [(why: String, time: Double)] = []
    /// Whether a call to the notification service has been scheduled and has not begun.
    private var isNotifying = false
    let events: AsyncStream<LinkEvent>
    nonisolated let continuation: AsyncStream<LinkEvent>.Continuation

    package init(_ environment: Environment) {
        self.environment = environment
        entries = EntryReading(environment.manifests)
        let now = environment.clock.now()
        part = Part(
            PushStates(now: now.wallSeconds), store: environment.store, clock: environment.clock,
            closed: "The push service is not running.", logger: environment.logger
        ) { environment.clock.now().wallSeconds }
        clockStandsSince = now.bootSeconds
        (events, continuation) = AsyncStream.makeStream()
    }

    package nonisolated var clock: any ServiceClock { environment.clock }
    var pushes: PushState { state.pushes }
    var unified: UnifiedPushState { state.unified }

    nonisolated var reading: ClockReading { environment.clock.now() }

    // MARK: - Start and stop

    /// Restores the stored state of the previous run of the service. It must be called after the apps and background
    /// refresh are prepared, and before they run.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    package func prepare() async throws(StoreError) {
        guard part.isNew else { return }
        let manifests = await environment.manifests() ?? []
        let (rows, wakes, ends, unifiedPush) = try await environment.store.read { transaction in
            (
                try transaction.pushes(PushApp.self, PushDevice.self, KnownPush.self),
                try transaction.wantedWakes().filter { $0.source == .push }.map(\.through), try Self.ends(transaction),
                try transaction.unifiedPush(UnifiedPushRegistration.self, UnifiedPushMessage.self)
            )
        }
        for what in rows.unreadable + unifiedPush.unreadable {
            environment.logger.error("A row cannot be read", metadata: ["row": "\(what)"])
        }
        let there = Set(wakes)
        let wanted = rows.pushes.filter { push in push.wake.map(there.contains) ?? false }.map(\.id)
        let durable = PushStates(rows, unifiedPush, now: reading.wallSeconds)
        var words: [(inout PushState) -> Void] = []
        for app in durable.pushes.registered { words.append(await word(on: app)) }
        await part.open(durable, hooks) { states, earlier, now in
            states.pushes.apply(earlier.pushes.moment)
            states.begin(
                manifests, ends: ends, wanted: Set(wanted), unreadable: rows.unreadable + unifiedPush.unreadable,
                now: now)
            states.trustsClock = trustsClock
            for word in words { word(&states.pushes) }
        }
    }

    /// Makes decisions until ``stop()``.
    package func run() async {
        await settle { _, _ in }
        await companions.run(
            by: self,
            beside: [
                { await $0.followClock() }, { await $0.followLink() }, { await $0.followDistribution() },
            ])
    }

    package func stop() async {
        guard !part.isClosed else { return }
        part.close()
        alarm.cancel()
        dropLink()
        environment.distribution?.stop()
        continuation.finish()
        companions.finish()
        for id in Array(waiters.keys) { resumeWaiter(id) }
        await part.settled()
    }

    /// Decides again after each change of the wall clock, because all times may be different then.
    private func followClock() async {
        for await _ in environment.clock.wallClockChanges() {
            clockStandsSince = reading.bootSeconds
            await settle { _, _ in }
        }
    }

    package var furtherDecision: Double? {
        let trust = state.isInDoubt(reading.wallSeconds) ? clockStandsSince + PushState.clockTimeout : nil
        return [trust, plan.nextDeadline].compactMap(\.self).min()
    }

    package func look() async {
        guard !part.isClosed else { return }
        perform(plan.tick(jitter: environment.random(), now: reading.bootSeconds))
        await settle { _, _ in }
    }

    /// Whether the wall clock may be used to check whether a push has expired.
    var trustsClock: Bool { reading.bootSeconds - clockStandsSince >= PushState.clockTimeout }

    // MARK: - Effects of written changes

    /// Tells the notification service that notifications are due. This does not wait for the notification service,
    /// because it may first ask an app in the foreground, which takes time.
    func notify(of changes: PushChanges) {
        guard changes.changesNotifications, !isNotifying else { return }
        isNotifying = true
        companions.yield { await $0.callNotifications() }
    }

    private func callNotifications() async {
        // Rows that are written after this point need another call.
        isNotifying = false
        await environment.notifications.changed()
    }

    private static func ends(_ transaction: StoreTransaction) throws -> [PushEnd] {
        try transaction.wakeEnds(of: [.push]).map {
            PushEnd(row: $0, push: try transaction.pushMessage(ofWake: $0.wake))
        }
    }

    // MARK: - Events

    package func apply(_ moment: DeviceState) async {
        let now = reading.bootSeconds
        let wasDozing = pushes.moment.phase == .dozing
        perform(plan.apply(moment.conditions, now: now))
        guard !part.isNew else { return await part.note { $0.pushes.apply(moment) } }
        // The device is awake for other work in a maintenance window and after doze.
        if wasDozing, moment.phase != .dozing { perform(plan.isAwakeAnyway(now: now)) }
        await settle { states, _ in states.pushes.apply(moment) }
    }

    package func receive(_ event: AppEvent, of app: AppID) async {
        switch event {
        case .installed: entries.told()
        case .wakesEnded: return await wakesEnded()
        case .suspended: return
        case .use, .forceQuit, .launched: break
        }
        await settle { states, now in
            switch event {
            case .use(let isInFront): states.pushes.use(app, isInFront: isInFront)
            case .forceQuit: states.pushes.forceQuit(app)
            case .launched: states.pushes.launched(app)
            case .installed(let manifest): states.pushes.installed(app, manifest, now: now)
            case .suspended, .wakesEnded: break
            }
        }
    }

    /// Applies a change of the background refresh settings, which may change whether apps are woken.
    package func refreshChanged() async {
        for app in pushes.registered { await learn(app) }
        await settle { _, _ in }
    }

    /// Records that the user has allowed or denied notifications of the app.
    package func permissionChanged(_ app: AppID) async {
        await learn(app)
        await settle { _, _ in }
    }

    /// Records the new state of a notification of an app: shown, waiting or not shown.
    package func alert(_ identifier: String, of app: AppID, became state: AlertState, at date: Date) async {
        await settle { states, _ in states.pushes.alert(identifier, of: app, became: state, at: date) }
    }

    /// Handles newly ended wakes. Their ends are already on disk.
    private func wakesEnded() async {
        guard part.isOpen else { return }
        do throws(StoreError) {
            let ends = try await environment.store.read { try Self.ends($0) }
            guard !ends.isEmpty else { return }
            await settle { $0.pushes.take(ends, now: $1) }
        } catch {
            environment.logger.error("The store cannot be read", metadata: ["error": "\(error)"])
        }
    }

    /// Updates the availability and the notification permission of an app.
    func learn(_ app: AppID) async {
        let word = await word(on: app)
        await part.note { word(&$0.pushes) }
    }

    private func word(on app: AppID) async -> (inout PushState) -> Void {
        let availability = await environment.availability(app)
        let permission = await environment.notifications.permission(app)
        return { pushes in
            pushes.set(availability, of: app)
            pushes.set(permission, of: app)
        }
    }
}
