import Foundation
package import NightshiftAPI
import Runtime
import Scheduler

/// Locations of the device: the events that follow from them, and the requests for the next ones.
extension LocationState {
    /// Handles an update of a location source.
    package mutating func take(_ update: FixUpdate, now: LocationMoment) {
        switch update {
        case .fix(let fix, _): take(fix, now)
        case .cell(let name, let time): take(cell: name, since: min(time, now.bootSeconds), now)
        case .receiver(let seconds): requestEnded(seconds, now)
        case .sources(let sources, let regions, let changes):
            self.sources = sources
            sourcesTime = now.bootSeconds
            // A source that has become available gets a request at once.
            if regions && !canMonitorRegions || changes && !canMonitorSignificantChanges { retryAt = now.bootSeconds }
            canMonitorRegions = regions
            canMonitorSignificantChanges = changes
        }
    }

    // MARK: - Locations

    private mutating func take(_ told: Fix, _ now: LocationMoment) {
        var fix = told
        // A time in the future would block all decisions that depend on the age of the fix.
        fix.time = min(fix.time, now.bootSeconds)
        guard now.bootSeconds - fix.time <= Self.freshness, place.map({ fix.time > $0.time }) ?? true else { return }
        place = fix
        request?.isAnswered = true
        failures = 0
        deliver(followers.take(fix, now: now.bootSeconds), now)
        for event in plan.moved(to: fix, wanted: request?.accuracy) { cross(event, fix, now) }
        if let cell, fix.time >= cell.since { self.cell?.isPlaced = true }
        for app in watchingChanges { change(app, at: fix, now) }
    }

    private mutating func cross(_ event: LocationPlan.Event, _ fix: Fix, _ now: LocationMoment) {
        let (app, identifier) = (event.app, event.region.identifier)
        guard apps[app]?.regions[identifier] != nil else { return }
        apps[app]?.regions[identifier]?.crossings += 1
        apps[app]?.regions[identifier]?.lastCrossing = now.seconds
        var told = LocationEvent(
            kind: event.crossing == .entered ? .entered : .left, time: Date(timeIntervalSince1970: now.seconds))
        told.region = event.region
        told.place = described(fix, now)
        tell(app, .region, identifier, told, now)
        note(event.crossing == .entered ? .regionEntered : .regionLeft, app, identifier, now)
    }

    // MARK: - Significant changes

    /// The apps that currently get significant changes, in a fixed order.
    var watchingChanges: [AppID] { order.filter { apps[$0]?.monitorsSignificantChanges == true && isWatched($0) } }

    private mutating func take(cell name: String, since time: Double, _ now: LocationMoment) {
        guard cell?.name != name else { return }
        cell = KnownCell(name: name, since: time, isPlaced: false)
        if let place, time - place.time <= Self.cellFreshness {
            // A location from a moment ago counts as the location of the new cell.
            self.cell?.isPlaced = true
            for app in watchingChanges { change(app, at: place, cell: name, now) }
        } else if !canMonitorRegions {
            tellWithoutPlace(now)
        }
    }

    /// Sends an event without a location if the sources cannot locate the new cell.
    private mutating func tellWithoutPlace(_ now: LocationMoment) {
        guard let cell, !cell.isPlaced, let origin = Coordinate(latitude: 0, longitude: 0),
            let fix = Fix(place: origin, accuracy: Self.nowhere, time: now.bootSeconds)
        else { return }
        self.cell?.isPlaced = true
        for app in watchingChanges {
            guard apps[app]?.change != SignificantChange() else {
                // The first event of an app must have a location. After this, a change to another cell counts as a
                // significant change.
                _ = apps[app]?.change.moved(to: SignificantChange.Place(fix: fix, cell: cell.name))
                continue
            }
            change(app, at: fix, cell: cell.name, now)
        }
    }

    /// Sends an app the last known location, if the app has not received one yet.
    mutating func tellLastPlace(_ app: AppID, _ now: LocationMoment) {
        guard let place, apps[app]?.monitorsSignificantChanges == true, isWatched(app) else { return }
        change(app, at: place, now)
    }

    private mutating func change(_ app: AppID, at fix: Fix, _ now: LocationMoment) {
        // A location from before the device entered the current cell does not belong to that cell.
        change(app, at: fix, cell: cell.flatMap { fix.time >= $0.since ? $0.name : nil }, now)
    }

    private mutating func change(_ app: AppID, at fix: Fix, cell: String?, _ now: LocationMoment) {
        guard let told = apps[app]?.change.moved(to: SignificantChange.Place(fix: fix, cell: cell)) else { return }
        tellChange(app, told, now)
    }

    /// Sends significant changes that were delayed, because another one had been sent shortly before.
    mutating func tellHeldChanges(_ now: LocationMoment) {
        for app in watchingChanges {
            guard let told = apps[app]?.change.tick(now: now.bootSeconds) else { continue }
            tellChange(app, told, now)
        }
    }

    private mutating func tellChange(_ app: AppID, _ place: SignificantChange.Place, _ now: LocationMoment) {
        var told = LocationEvent(kind: .changed, time: Date(timeIntervalSince1970: now.seconds))
        if place.fix.accuracy < Self.nowhere { told.place = described(place.fix, now) }
        tell(app, .significantChange, "", told, now)
        note(.locationChanged, app, nil, now)
    }

    // MARK: - Events for apps

    private mutating func tell(
        _ app: AppID, _ source: WakeSource, _ key: String, _ event: LocationEvent, _ now: LocationMoment
    ) {
        apps[app]?.wakes += 1
        // An app in the foreground receives the event at once. The limit is short, because the app may have just left
        // the foreground and must not be woken then.
        let timeout = apps[app]?.permission == .whenInUse ? Self.foregroundNoticeTimeout : nil
        let wake = LocationWake(app: app, source: source, key: key, event: event, timeout: timeout)
        outbox.removeAll { $0.wake.map { $0.app == app && $0.source == source && $0.key == key } ?? false }
        outbox.append(.begin(wake))
    }

    func described(_ fix: Fix, _ now: LocationMoment) -> Place {
        Place(
            fix.place, accuracy: fix.accuracy,
            time: Date(timeIntervalSince1970: now.wallSeconds(of: fix.time)))
    }

    // MARK: - Requests to the sources

    /// The time at which significant changes need a fix, because the location is unknown or the cell is new. Nil if
    /// they do not need one, or while the device dozes.
    private func changesDue(_ now: LocationMoment) -> Double? {
        // The receiver is not turned on for significant changes alone.
        guard canMonitorSignificantChanges, canMonitorRegions, !watchingChanges.isEmpty, moment.phase != .dozing else {
            return nil
        }
        let isWanted = place == nil || cell?.isPlaced == false
        return isWanted ? max(changesAsked + SignificantChange.pause, cell?.since ?? -.infinity) : nil
    }

    /// The time of the next request to the sources; nil if none is needed.
    func nextFix(_ now: LocationMoment) -> Double? {
        let watched = [plan.due, changesDue(now)].compactMap(\.self).min().map { max($0, retryAt) }
        // The pause after failed requests does not apply to requests of running apps.
        return [watched, followers.due].compactMap(\.self).min().map { max($0, now.bootSeconds) }
    }

    mutating func askForFix(_ now: LocationMoment) {
        let time = now.bootSeconds
        if let request, time - request.since >= Self.timeout { requestEnded(0, now) }
        let isForChanges = changesDue(now).map { $0 <= time } ?? false
        let question = followers.question(at: time)
        // Apps that will need a fix soon share this fix.
        var wanting = plan.apps.filter { app in plan.due(of: app).map { $0 <= time } ?? false }
        if !wanting.isEmpty || isForChanges || question != nil {
            wanting = plan.apps.filter { app in plan.due(of: app).map { $0 <= time + Self.sharing } ?? false }
        }
        let accuracies =
            wanting.compactMap { plan.accuracy(of: $0) } + (isForChanges ? [SignificantChange.distance] : [])
            + [question?.accuracy].compactMap(\.self)
        guard let accuracy = accuracies.min() else {
            // No fix is needed now. A request that was answered is kept, because the sources will still report how long
            // the receiver was on.
            let isOver = plan.due == nil && watchingChanges.isEmpty && followers.isIdle
            if isOver || request?.isAnswered == false { request = nil }
            return
        }
        guard request == nil else {
            if let question { join(question, time) }
            return
        }
        guard question != nil || time >= retryAt else { return }
        let apps = Set(wanting).union(isForChanges ? watchingChanges : []).union(apps(asking: question))
        request = PendingFixRequest(
            since: time, accuracy: accuracy, apps: apps, isForRegions: !wanting.isEmpty, isForChanges: isForChanges,
            timeout: question == nil ? FixDemand.usualTimeout : Self.foregroundTimeout, isRepeated: repeatsQuestion)
        repeatsQuestion = false
        charged = apps
        followers.ask(for: question?.numbers ?? [], now: time)
        if isForChanges { changesAsked = time }
        // The demand is sent again even if it equals the last one, because the request of the last one has ended.
        wish = currentWish
    }

    /// The demand that is sent to the sources.
    var currentWish: FixDemand {
        FixDemand(
            fix: request?.accuracy, watchesChanges: !watchingChanges.isEmpty,
            timeout: request?.timeout ?? FixDemand.usualTimeout)
    }

    private func apps(asking question: LocationFollowers.Question?) -> Set<AppID> {
        followers.apps(of: question?.numbers ?? [])
    }

    /// Adds app requests to the current source request.
    ///
    /// If the source request has the short time limit of a running app, only app requests that its accuracy satisfies
    /// are added, and the others wait for its end. If it has the usual, longer limit, it gets the accuracy and time
    /// limit that the app requests need.
    private mutating func join(_ question: LocationFollowers.Question, _ time: Double) {
        guard let request, !request.isAnswered else { return }
        let isPatient = request.timeout > Self.foregroundTimeout
        let numbers =
            isPatient ? question.numbers : followers.joining(question, accuracy: request.accuracy)
        guard !numbers.isEmpty else { return }
        followers.ask(for: numbers, now: time)
        let apps = followers.apps(of: numbers)
        self.request?.apps.formUnion(apps)
        charged.formUnion(apps)
        guard isPatient else { return }
        self.request?.accuracy = min(request.accuracy, question.accuracy)
        self.request?.timeout = Self.foregroundTimeout
        wish = currentWish
    }

    /// Handles the end of a source request, after which the receiver is off again.
    private mutating func requestEnded(_ seconds: Double, _ now: LocationMoment) {
        charge(seconds, now)
        guard let ended = request else { return }
        request = nil
        // The reported end may be that of a request that was cancelled just before.
        let mayBeAnother = !ended.isAnswered && canMonitorRegions && now.bootSeconds - ended.since < 1
        if mayBeAnother && !ended.isRepeated {
            repeatsQuestion = true
            followers.interrupted()
        } else {
            deliver(followers.ended(now: now.bootSeconds), now)
        }
        guard !ended.isAnswered, ended.isForRegions || ended.isForChanges else { return }
        failures += 1
        let pause =
            mayBeAnother && failures == 1 ? Self.soon : Self.pauseWithoutFix * pow(2, Double(min(failures, 8) - 1))
        retryAt = now.bootSeconds + min(FixSchedule.longest, pause)
        if ended.isForChanges { tellWithoutPlace(now) }
    }

    /// Divides the receiver's time equally among the apps for which the fix was requested.
    private mutating func charge(_ seconds: Double, _ now: LocationMoment) {
        let sharers = charged.filter { apps[$0] != nil }
        guard seconds > 0, seconds.isFinite, !sharers.isEmpty else { return }
        if receiverSince == nil { receiverSince = now.bootSeconds }
        for app in sharers { apps[app]?.receiver.add(seconds / Double(sharers.count), now.local) }
    }

    /// The maximum number of seconds between a location and the change to a new cell, for the location to count as
    /// inside that cell.
    private static let cellFreshness = 30.0
    /// The number of seconds before an app's fix is due in which the app can share a fix.
    private static let sharing = FixSchedule.shortest / 2
    /// The number of seconds that the sources have for a fix while a running app waits. After that the app gets the
    /// best fix so far.
    static let foregroundTimeout = 15.0
    /// The number of seconds before the next request after one that ended at once.
    private static let soon = 5.0
    /// The accuracy in metres of a location about which nothing is known: half of the earth's circumference.
    static let nowhere = 20_100_000.0
}
