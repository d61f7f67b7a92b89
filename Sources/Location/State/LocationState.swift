import Foundation
package import NightshiftAPI
package import Scheduler
package import Store

/// The state of location: requests of apps, permissions, and the next request to the sources.
///
/// It is a pure value: locations, device states and requests go in. ``look(_:)`` decides, ``takeChanges()`` returns the
/// changes for one transaction, ``takeEffects()`` the effects to execute after it, and ``takeWish()`` the request for
/// the sources. See `docs/decisions/0043`.
package struct LocationState: Sendable {
    package internal(set) var apps: [AppID: LocationRecord] = [:]
    /// The manifests of installed apps.
    package internal(set) var manifests: [AppID: AppManifest] = [:]
    /// The regions of apps that have permission.
    package internal(set) var plan = LocationPlan()
    package internal(set) var moment = DeviceState()
    /// The time of the next decision in boot seconds, unless an event comes before.
    package internal(set) var nextDeadline: Double?
    /// The available sources; nil until they are known.
    package internal(set) var sources: [LocationStatus.SourceStatus]?
    /// The time of the last report of sources.
    var sourcesTime = -Double.infinity
    let bootID: String
    /// The seconds of uptime in earlier boots, as recorded by the store.
    var seenBefore = 0.0
    var canMonitorRegions = false
    var canMonitorSignificantChanges = false
    /// The last location from any source.
    var place: Fix?
    var cell: KnownCell?
    var inFront: Set<AppID> = []
    var isForceQuit: Set<AppID> = []
    /// The apps whose user is being asked, with the earlier permission.
    var asking: [AppID: LocationPermission] = [:]
    var request: PendingFixRequest?
    /// The apps to which the receiver's time is charged.
    var charged: Set<AppID> = []
    /// The location requests of running apps. `deliveries` holds their results since ``takeDeliveries()``.
    var followers = LocationFollowers()
    var deliveries: [LocationDelivery] = []
    /// Apps whose processes are suspended.
    var suspended: Set<AppID> = []
    /// Whether the next request repeats one whose reported end may have belonged to an earlier, cancelled request.
    var repeatsQuestion = false
    /// The time of the last request because of a new cell.
    var changesAsked = -Double.infinity
    /// The number of consecutive requests without an answer. The next one is made at `retryAt`.
    var failures = 0
    var retryAt = -Double.infinity
    /// The last request sent to the sources. `wish` is the one to be sent.
    var toldWish = FixDemand()
    var wish: FixDemand?
    var marks = Marks()
    var effects: [LocationEffect] = []

    /// The changes that are not on disk yet.
    struct Marks: Sendable {
        var removed: Set<AppID> = []
        var cancelled: [LocationCancellation] = []
        var apps: Set<AppID> = []
        /// Apps of which only the receiver's seconds have changed, since `laterSince`. That alone is no reason to sync
        /// the disk.
        var later: Set<AppID> = []
        var laterSince = 0.0
        var device = false
        var begun: [LocationWake] = []
        var entries: [JournalEntry] = []
    }

    /// The seconds after which the state of an app without an entry is deleted. Uptime over all boots counts, because
    /// the wall clock may be wrong.
    static let absence = 30 * LocalMoment.daySeconds
    /// The seconds for which a location counts as current.
    static let freshness = 120.0
    /// The seconds for which the report of available sources counts as current.
    static let sourcesFreshness = 5.0
    /// The seconds after which a request counts as ended if the sources report nothing.
    static let timeout = 180.0
    /// The seconds before the next request after one without an answer; doubled by each further one.
    static let pauseWithoutFix = 60.0
    /// The seconds for which an event of an app with the permission *when in use* is valid, because the app may have
    /// left the foreground by then.
    static let foregroundNoticeTimeout = 30.0

    package init(bootID: String) { self.bootID = bootID }

    /// Restores the stored state.
    ///
    /// - Parameters:
    ///   - manifests: nil if the entries cannot be read.
    ///   - seenBefore: ``StoreTransaction/secondsSeenBefore()``.
    package init(
        _ kept: StoredLocation<LocationRecord, DeviceLocationRecord>, manifests: [AppManifest]?, bootID: String,
        seenBefore: Double, moment: DeviceState, now: LocationMoment
    ) {
        self.bootID = bootID
        self.seenBefore = seenBefore
        self.moment = moment
        apps = kept.apps
        if let record = kept.device { plan = record.plan }
        // The sides of boundaries are kept; the last location is not, because it is outdated.
        plan.restarted()
        if kept.device?.bootID != bootID {
            for id in apps.keys { apps[id]?.change.restarted(now: now.bootSeconds) }
            marks.apps.formUnion(apps.keys)
            marks.device = !apps.isEmpty
        }
        for what in kept.unreadable { note(.unreadable, nil, what, now) }
        if let manifests { read(manifests, now: now) }
        for id in Set(plan.apps).union(apps.keys) { putIntoPlan(id, now) }
    }

    /// App ids in a fixed order.
    var order: [AppID] { apps.keys.sorted { $0.rawValue < $1.rawValue } }

    mutating func note(_ decision: Decision, _ app: AppID?, _ detail: String?, _ now: LocationMoment) {
        marks.entries.append(
            JournalEntry(
                time: Date(timeIntervalSince1970: now.seconds), decision: decision, app: app, detail: detail))
    }

    // MARK: - Permission and monitoring

    /// Whether the user allows the app to learn the location, always or in the foreground.
    func isAllowed(_ app: AppID) -> Bool {
        switch apps[app]?.permission {
        case .always, .whenInUse: true
        case .ask, .denied, nil: false
        }
    }

    /// Whether the app is monitored for now.
    func isWatched(_ app: AppID) -> Bool {
        guard manifests[app] != nil, !isForceQuit.contains(app), isAllowed(app) else { return false }
        return apps[app]?.permission == .always || inFront.contains(app)
    }

    /// Adds the app's regions to the plan if it has permission, otherwise removes them.
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
        marks.begun.removeAll { cancellation.covers($0) }
        marks.cancelled.append(cancellation)
        effects.append(.wakesChanged(cancellation.app))
    }

    // MARK: - Events of the device and apps

    package mutating func apply(_ moment: DeviceState) { self.moment = moment }

    /// The app came to the foreground or left it.
    package mutating func use(_ app: AppID, isInFront: Bool, now: LocationMoment) {
        if isInFront { inFront.insert(app) } else { inFront.remove(app) }
        updateWatching(app, now)
        if !isInFront, apps[app]?.permission == .whenInUse { cancel(.all(app)) }
    }

    package mutating func forceQuit(_ app: AppID, now: LocationMoment) {
        isForceQuit.insert(app)
        use(app, isInFront: false, now: now)
    }

    /// The user has started the app.
    package mutating func launched(_ app: AppID, now: LocationMoment) {
        isForceQuit.remove(app)
        updateWatching(app, now)
    }

    // MARK: - Desktop entries

    package mutating func installed(_ app: AppID, _ manifest: AppManifest?, now: LocationMoment) {
        manifests[app] = manifest
        if manifest == nil { remove(app, now) } else { seen(app, now) }
    }

    /// The entries were read again. An entry that is gone may return, so the state of its app is kept for a while, but
    /// not monitored.
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
                marks.apps.insert(app)
                updateWatching(app, now)
            }
        }
    }

    private mutating func seen(_ app: AppID, _ now: LocationMoment) {
        if apps[app]?.goneSeen != nil {
            apps[app]?.goneSeen = nil
            marks.apps.insert(app)
        }
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
        marks.begun.removeAll { $0.app == app }
        marks.cancelled.removeAll { $0.app == app }
        marks.apps.remove(app)
        marks.later.remove(app)
        marks.removed.insert(app)
        marks.device = true
        effects.append(.wakesChanged(app))
    }

    /// Adds a record for the app.
    mutating func know(_ app: AppID) {
        guard apps[app] == nil else { return }
        apps[app] = LocationRecord()
        marks.apps.insert(app)
    }

    @discardableResult
    func require(_ app: AppID) throws(Problem) -> AppManifest {
        guard let manifest = manifests[app] else {
            throw .notFound("There is no app '\(app)' with a desktop entry. 'nightshift app list' shows the apps.")
        }
        return manifest
    }

    // MARK: - Deciding

    /// Decides which events are sent now, and whether the sources are asked.
    package mutating func decide(at now: LocationMoment) {
        tellHeldChanges(now)
        askForFix(now)
        let wish = currentWish
        if wish != toldWish { self.wish = wish }
        let held = watchingChanges.compactMap { apps[$0]?.change.due }.min()
        let asked = request.map { $0.since + Self.timeout } ?? nextFix(now)
        nextDeadline = [held, asked].compactMap(\.self).min()
        if now.bootSeconds - marks.laterSince >= Self.longestDelay { writeAll() }
    }

    /// Whether the report of available sources may be outdated. The sources report changes by themselves only while
    /// something is monitored.
    package func sourcesMayHaveChanged(_ now: LocationMoment) -> Bool {
        now.bootSeconds - sourcesTime >= Self.sourcesFreshness
    }

    /// Returns the request for the sources; nil if it has not changed.
    package mutating func takeWish() -> FixDemand? {
        defer { wish = nil }
        if let wish { toldWish = wish }
        return wish
    }
}
