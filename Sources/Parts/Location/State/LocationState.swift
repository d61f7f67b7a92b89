import Foundation
package import NightshiftAPI
package import Runtime
package import Scheduler
package import Store

/// The state of the location feature: requests of apps, permissions, and the next request to the sources.
///
/// A pure value: locations, device states and requests go in. ``decide(at:)`` decides, ``changes(since:)`` returns what
/// a transaction has to write, ``takeEffects()`` returns the effects to execute after it, and ``takeWish()`` returns the
/// request for the sources. See `docs/decisions/0043`.
package struct LocationState: PartState {
    package internal(set) var apps: [AppID: LocationRecord] = [:]
    /// The manifests of installed apps.
    package internal(set) var manifests: [AppID: AppManifest] = [:]
    /// The monitored regions of apps that have permission.
    package internal(set) var plan = LocationPlan()
    package internal(set) var moment = DeviceState()
    /// The time of the next decision in boot seconds, unless an event comes before.
    package internal(set) var nextDeadline: Double?
    /// The available sources; nil until they are known.
    package internal(set) var sources: [LocationStatus.SourceStatus]?
    /// The time of the last report about the available sources.
    var sourcesTime = -Double.infinity
    /// The boot to which the boot seconds of the state belong.
    private(set) var bootID: String
    /// The number of seconds of uptime in earlier boots, as recorded by the store.
    var seenBefore = 0.0
    var canMonitorRegions = false
    var canMonitorSignificantChanges = false
    /// The last location from any source.
    var place: Fix?
    var cell: KnownCell?
    var inFront: Set<AppID> = []
    var isForceQuit: Set<AppID> = []
    /// The apps about which the user is being asked, with their permissions before the question.
    var asking: [AppID: LocationPermission] = [:]
    var request: PendingFixRequest?
    /// The apps to which the receiver's time is charged.
    var charged: Set<AppID> = []
    /// The location requests of running apps. `deliveries` holds their results since ``takeDeliveries()``.
    var followers = LocationFollowers()
    var deliveries: [LocationDelivery] = []
    /// The apps whose processes are suspended.
    var suspended: Set<AppID> = []
    /// Whether the next request repeats one whose reported end may have been that of an earlier, cancelled request.
    var repeatsQuestion = false
    /// The time of the last request that was made for a new cell.
    var changesAsked = -Double.infinity
    /// The number of consecutive requests without an answer. The next request is made at `retryAt`.
    var failures = 0
    var retryAt = -Double.infinity
    /// The last demand sent to the sources. `wish` is the demand that is to be sent.
    var toldWish = FixDemand()
    var wish: FixDemand?
    package internal(set) var outbox = Outbox<LocationOutput>()
    package internal(set) var journal = Outbox<JournalEntry>()
    /// The time since which the receiver's seconds may differ from those on disk; nil if they do not.
    var receiverSince: Double?
    /// Whether the next write is made even if only the receiver's seconds have changed.
    var writesReceiver = false
    var effects: [LocationEffect] = []

    /// The number of seconds after which the state of an app without a desktop entry is deleted. This is uptime over
    /// all boots, because the wall clock may be wrong.
    static let absence = 30 * LocalMoment.daySeconds
    /// The number of seconds for which a location counts as current.
    static let freshness = 120.0
    /// The number of seconds for which the report about available sources counts as current.
    static let sourcesFreshness = 5.0
    /// The number of seconds after which a request counts as ended if the sources do not report its end.
    static let timeout = 180.0
    /// The number of seconds before the next request after one without an answer. Each further one without an answer
    /// doubles it.
    static let pauseWithoutFix = 60.0
    /// The number of seconds for which an event is valid if its app has the permission *when in use*. It is short,
    /// because the app may have left the foreground by then.
    static let foregroundNoticeTimeout = 30.0

    package init(bootID: String) { self.bootID = bootID }

    /// Restores the stored state. ``begin(_:bootID:seenBefore:unreadable:now:)`` must follow.
    package init(_ kept: StoredLocation<LocationRecord, DeviceLocationRecord>) {
        bootID = kept.device?.bootID ?? ""
        apps = kept.apps
        if let record = kept.device { plan = record.plan }
    }

    /// Applies the start of the service.
    ///
    /// - Parameters:
    ///   - manifests: the manifests of installed apps; nil if the desktop entries cannot be read.
    ///   - seenBefore: the value of ``StoreTransaction/secondsSeenBefore()``.
    ///   - unreadable: the names of rows that could not be read.
    package mutating func begin(
        _ manifests: [AppManifest]?, bootID: String, seenBefore: Double, unreadable: [String] = [], now: LocationMoment
    ) {
        self.seenBefore = seenBefore
        // The sides of the boundaries are kept. The last location is not kept, because it is outdated.
        plan.restarted()
        if self.bootID != bootID {
            for id in apps.keys { apps[id]?.change.restarted(now: now.bootSeconds) }
            self.bootID = bootID
        }
        for what in unreadable { note(.unreadable, nil, what, now) }
        if let manifests { read(manifests, now: now) }
        for id in Set(plan.apps).union(apps.keys) { putIntoPlan(id, now) }
    }

    /// The ids of all apps in a fixed order.
    var order: [AppID] { apps.keys.sorted { $0.rawValue < $1.rawValue } }

    mutating func note(_ decision: Decision, _ app: AppID?, _ detail: String?, _ now: LocationMoment) {
        journal.note(
            JournalEntry(
                time: Date(timeIntervalSince1970: now.seconds), decision: decision, app: app, detail: detail))
    }

    // MARK: - Permission and monitoring

    /// Returns whether the user allows the app to use the location, always or in the foreground.
    func isAllowed(_ app: AppID) -> Bool {
        switch apps[app]?.permission {
        case .always, .whenInUse: true
        case .ask, .denied, nil: false
        }
    }

    /// Returns whether the service currently monitors regions and changes for the app.
    func isWatched(_ app: AppID) -> Bool {
        guard manifests[app] != nil, !isForceQuit.contains(app), isAllowed(app) else { return false }
        return apps[app]?.permission == .always || inFront.contains(app)
    }

    /// Adds the app's regions to the plan if the app has permission. Otherwise removes them.
    mutating func putIntoPlan(_ app: AppID, _ now: LocationMoment) {
        guard isAllowed(app), let record = apps[app] else {
            plan.remove(app)
            return
        }
        plan.forgetPlace(before: now.bootSeconds - Self.freshness)
        for region in plan.regions(of: app) where record.regions[region.identifier] == nil {
            plan.remove(region.identifier, of: app)
        }
        for known in record.regions.values { plan.add(known.region, for: app) }
        plan.setPaused(!isWatched(app), app)
    }

    /// Starts or pauses monitoring for the app after a change of its state or permission.
    mutating func updateWatching(_ app: AppID, _ now: LocationMoment) {
        guard apps[app] != nil else { return }
        plan.forgetPlace(before: now.bootSeconds - Self.freshness)
        plan.setPaused(!isWatched(app), app)
        updateFollowing(app, now)
    }

    mutating func cancel(_ cancellation: LocationCancellation) {
        outbox.removeAll { $0.wake.map(cancellation.covers) ?? false }
        outbox.append(.cancel(cancellation))
        effects.append(.wakesChanged(cancellation.app))
    }

    // MARK: - Events of the device and apps

    package mutating func apply(_ moment: DeviceState) { self.moment = moment }

    /// Records that the app came to the foreground or left it.
    package mutating func use(_ app: AppID, isInFront: Bool, now: LocationMoment) {
        if isInFront { inFront.insert(app) } else { inFront.remove(app) }
        updateWatching(app, now)
        if !isInFront, apps[app]?.permission == .whenInUse { cancel(.all(app)) }
    }

    package mutating func forceQuit(_ app: AppID, now: LocationMoment) {
        isForceQuit.insert(app)
        use(app, isInFront: false, now: now)
    }

    /// Records that the user has started the app.
    package mutating func launched(_ app: AppID, now: LocationMoment) {
        isForceQuit.remove(app)
        updateWatching(app, now)
    }

    // MARK: - Desktop entries

    package mutating func installed(_ app: AppID, _ manifest: AppManifest?, now: LocationMoment) {
        manifests[app] = manifest
        if manifest == nil { remove(app, now) } else { seen(app, now) }
    }

    /// Applies the desktop entries after they were read again. If an entry is missing, the state of its app is kept for
    /// a while without being monitored, because the entry may return.
    package mutating func read(_ manifests: [AppManifest], now: LocationMoment) {
        self.manifests = Dictionary(manifests.map { ($0.id, $0) }) { $1 }
        let present = seenBefore + now.bootSeconds
        for app in order {
            if self.manifests[app] != nil {
                seen(app, now)
            } else if let since = apps[app]?.goneSeen {
                if present - since > Self.absence { remove(app, now) }
            } else {
                apps[app]?.goneSeen = present
                updateWatching(app, now)
            }
        }
    }

    private mutating func seen(_ app: AppID, _ now: LocationMoment) {
        apps[app]?.goneSeen = nil
        updateWatching(app, now)
    }

    private mutating func remove(_ app: AppID, _ now: LocationMoment) {
        inFront.remove(app)
        isForceQuit.remove(app)
        asking[app] = nil
        charged.remove(app)
        request?.apps.remove(app)
        followers.setActive(false, app, now: now.bootSeconds)
        guard apps.removeValue(forKey: app) != nil else { return }
        plan.remove(app)
        outbox.append(.remove(app))
        effects.append(.wakesChanged(app))
    }

    /// Adds a record for the app, unless it already has one.
    mutating func know(_ app: AppID) {
        if apps[app] == nil { apps[app] = LocationRecord() }
    }

    @discardableResult
    func require(_ app: AppID) throws(Problem) -> AppManifest {
        guard let manifest = manifests[app] else {
            throw .notFound("There is no app '\(app)' with a desktop entry. 'nightshift app list' shows the apps.")
        }
        return manifest
    }

    // MARK: - Deciding

    /// Decides which events are sent now, and whether to send a request to the sources.
    package mutating func decide(at now: LocationMoment) {
        tellHeldChanges(now)
        askForFix(now)
        let wish = currentWish
        if wish != toldWish { self.wish = wish }
        let held = watchingChanges.compactMap { apps[$0]?.change.due }.min()
        let asked = request.map { $0.since + Self.timeout } ?? nextFix(now)
        nextDeadline = [held, asked].compactMap(\.self).min()
        if let receiverSince, now.bootSeconds - receiverSince >= Self.longestDelay { writeAll() }
    }

    package var nextDecision: DecisionTime? { nextDeadline.map { .bootSeconds($0) } }

    package mutating func takeEffects() -> [LocationEffect] {
        defer { effects = [] }
        return effects
    }

    /// Returns whether the report about available sources may be outdated. The sources report changes unasked only
    /// while an app monitors something.
    package func sourcesMayHaveChanged(_ now: LocationMoment) -> Bool {
        now.bootSeconds - sourcesTime >= Self.sourcesFreshness
    }

    /// Returns the demand for the sources, if it has changed since the last call; otherwise nil.
    package mutating func takeWish() -> FixDemand? {
        defer { wish = nil }
        if let wish { toldWish = wish }
        return wish
    }
}
