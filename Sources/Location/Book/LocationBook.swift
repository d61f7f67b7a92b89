import Foundation
package import NightshiftAPI
package import Scheduler
package import Store

/// Everything that is known of location: who wants to be told of what, who may be, and when the receiver is asked next.
///
/// Pure: places, moments and requests go in. ``look(_:)`` decides, ``takeChanges()`` gives what one transaction writes,
/// ``takeEffects()`` what is done behind it, and ``takeWish()`` what the sources are told. See `docs/decisions/0043`.
package struct LocationBook: Sendable {
    package internal(set) var apps: [AppID: LocationRecord] = [:]
    /// What the entries of installed apps say.
    package internal(set) var manifests: [AppID: AppManifest] = [:]
    /// The regions of apps that have their user's permission.
    package internal(set) var plan = LocationPlan()
    package internal(set) var moment = DeviceMoment()
    /// When to decide again on the clock of fixes, if nothing happens before.
    package internal(set) var nextLook: Double?
    /// Nil until they were looked at: nobody knows yet what can be monitored.
    package internal(set) var sources: [LocationStatus.SourceStatus]?
    /// When they were looked at, as far as it was told.
    var sourcesTime = -Double.infinity
    let bootID: String
    /// Seconds that were seen to pass before the present boot.
    var seenBefore = 0.0
    var canMonitorRegions = false
    var canMonitorSignificantChanges = false
    /// The last place that any source has told.
    var place: Fix?
    var cell: KnownCell?
    var inFront: Set<AppID> = []
    var isForceQuit: Set<AppID> = []
    /// Whose user is being asked, with his word of before.
    var asking: [AppID: LocationPermission] = [:]
    var request: FixRequest?
    /// For whom the receiver was on last.
    var charged: Set<AppID> = []
    /// The requests of running apps for the place, and what those were given since ``takeDeliveries()``.
    var followers = LocationFollowers()
    var deliveries: [LocationDelivery] = []
    /// Apps whose processes stand still.
    var suspended: Set<AppID> = []
    /// Whether the next question repeats one that ended for another reason than its own.
    var repeatsQuestion = false
    /// When a fix was last asked for because of a cell.
    var changesAsked = -Double.infinity
    /// Requests without an answer, one behind the other, and when the next one is made.
    var failures = 0
    var retryAt = -Double.infinity
    /// What the sources were told last, and what they are to be told.
    var toldWish = FixWish()
    var wish: FixWish?
    var marks = Marks()
    var effects: [LocationEffect] = []

    /// What is not on disk yet.
    struct Marks: Sendable {
        var removed: Set<AppID> = []
        var cancelled: [LocationCancellation] = []
        var apps: Set<AppID> = []
        /// Apps of which no more than the receiver's seconds have changed, and since when: they are no reason for a sync of the disk.
        var later: Set<AppID> = []
        var laterSince = 0.0
        var device = false
        var begun: [LocationWake] = []
        var entries: [JournalEntry] = []
    }

    /// Seconds, of those that are seen to pass, after which what is kept of an app goes whose entry is gone.
    static let absence = 30 * LocalMoment.daySeconds
    /// Seconds for which a place says where the device is now.
    static let freshness = 120.0
    /// Seconds for which what sources there are is not asked anew.
    static let sourcesFreshness = 5.0
    /// Seconds after which a request counts as ended of which the sources say nothing more.
    static let patience = 180.0
    /// Seconds between two requests of which the first had no answer, doubled with each.
    static let pauseWithoutFix = 60.0
    /// Seconds for which an app with permission *when in use* may be told: then it has left the front, perhaps.
    static let frontPatience = 30.0

    package init(bootID: String) { self.bootID = bootID }

    /// The book as it was kept.
    ///
    /// - Parameters:
    ///   - manifests: nil where the entries cannot be read.
    ///   - seenBefore: ``StoreTransaction/secondsSeenBefore()``.
    package init(
        _ kept: StoredLocation<LocationRecord, DeviceLocationRecord>, manifests: [AppManifest]?, bootID: String,
        seenBefore: Double, moment: DeviceMoment, now: LocationMoment
    ) {
        self.bootID = bootID
        self.seenBefore = seenBefore
        self.moment = moment
        apps = kept.apps
        if let record = kept.device { plan = record.plan }
        // The sides stay; a place of before is none of now.
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

    /// Ids in an order that is the same everywhere.
    var order: [AppID] { apps.keys.sorted { $0.rawValue < $1.rawValue } }

    mutating func note(_ decision: Decision, _ app: AppID?, _ detail: String?, _ now: LocationMoment) {
        marks.entries.append(
            JournalEntry(
                time: Date(timeIntervalSince1970: now.seconds), decision: decision, app: app, detail: detail))
    }

    // MARK: - Who may be told

    /// Whether an app's user lets it learn where the device is, now or while he sees it.
    func isAllowed(_ app: AppID) -> Bool {
        switch apps[app]?.permission {
        case .always, .whenInUse: true
        case .ask, .denied, nil: false
        }
    }

    /// Whether somebody looks for the app now.
    func isWatched(_ app: AppID) -> Bool {
        guard manifests[app] != nil, !isForceQuit.contains(app), isAllowed(app) else { return false }
        return apps[app]?.permission == .always || inFront.contains(app)
    }

    /// Has the plan hold an app's regions where it is allowed, and none where it is not.
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

    /// What may happen to an app has changed: looks for it from now on, or no more.
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

    // MARK: - What the device, its user and apps do

    package mutating func apply(_ moment: DeviceMoment) { self.moment = moment }

    /// The app came to the front of its user, or left it.
    package mutating func use(_ app: AppID, isInFront: Bool, now: LocationMoment) {
        if isInFront { inFront.insert(app) } else { inFront.remove(app) }
        updateWatching(app, now)
        if !isInFront, apps[app]?.permission == .whenInUse { cancel(.all(app)) }
    }

    package mutating func forceQuit(_ app: AppID, now: LocationMoment) {
        isForceQuit.insert(app)
        use(app, isInFront: false, now: now)
    }

    /// Its user has started the app.
    package mutating func launched(_ app: AppID, now: LocationMoment) {
        isForceQuit.remove(app)
        updateWatching(app, now)
    }

    // MARK: - What entries say

    package mutating func installed(_ app: AppID, _ manifest: AppManifest?, now: LocationMoment) {
        manifests[app] = manifest
        if manifest == nil { remove(app, now) } else { seen(app, now) }
    }

    /// The entries were read anew. One that is gone may come back: what is kept stays for a while, and nothing is watched for it.
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

    /// Makes the app known: it takes part from now on.
    mutating func know(_ app: AppID) {
        guard apps[app] == nil else { return }
        apps[app] = LocationRecord()
        marks.apps.insert(app)
    }

    @discardableResult
    func require(_ app: AppID) throws(Problem) -> AppManifest {
        guard let manifest = manifests[app] else {
            throw .notFound("There is no app '\(app)' with a desktop entry. 'nightshift app list' shows them.")
        }
        return manifest
    }

    // MARK: - Deciding

    /// Decides what is told now, and whether the receiver is asked.
    package mutating func look(_ now: LocationMoment) {
        tellHeldChanges(now)
        askForFix(now)
        let wish = currentWish
        if wish != toldWish { self.wish = wish }
        let held = watchingChanges.compactMap { apps[$0]?.change.due }.min()
        let asked = request.map { $0.since + Self.patience } ?? nextFix(now)
        nextLook = [held, asked].compactMap(\.self).min()
        if now.bootSeconds - marks.laterSince >= Self.longestDelay { writeAll() }
    }

    /// Whether there may be other sources by now: one that has come to be there is told by itself only while something is wanted.
    package func sourcesMayHaveChanged(_ now: LocationMoment) -> Bool {
        now.bootSeconds - sourcesTime >= Self.sourcesFreshness
    }

    /// What the sources are to be told; nil where they have been.
    package mutating func takeWish() -> FixWish? {
        defer { wish = nil }
        if let wish { toldWish = wish }
        return wish
    }
}
