import Foundation
package import NightshiftAPI
import Scheduler

/// Places: what is told of them, and when the next one is asked for.
extension LocationBook {
    /// A source has said something.
    package mutating func take(_ update: FixUpdate, now: LocationMoment) {
        switch update {
        case .fix(let fix, _): take(fix, now)
        case .cell(let name, let time): take(cell: name, since: min(time, now.bootSeconds), now)
        case .receiver(let seconds): requestEnded(seconds, now)
        case .sources(let sources, let regions, let changes):
            self.sources = sources
            sourcesTime = now.bootSeconds
            // One that has come to be there is asked at once.
            if regions && !canMonitorRegions || changes && !canMonitorSignificantChanges { retryAt = now.bootSeconds }
            canMonitorRegions = regions
            canMonitorSignificantChanges = changes
        }
    }

    // MARK: - Places

    private mutating func take(_ told: Fix, _ now: LocationMoment) {
        var fix = told
        // What a source takes for the future would keep everything that follows from counting.
        fix.time = min(fix.time, now.bootSeconds)
        guard now.bootSeconds - fix.time <= Self.freshness, place.map({ fix.time > $0.time }) ?? true else { return }
        place = fix
        request?.isAnswered = true
        failures = 0
        deliver(followers.take(fix, now: now.bootSeconds), now)
        let before = sides
        for event in plan.moved(to: fix, wanted: request?.accuracy) { cross(event, fix, now) }
        if sides != before { marks.device = true }
        if let cell, fix.time >= cell.since { self.cell?.isPlaced = true }
        for app in watchingChanges { change(app, at: fix, now) }
    }

    /// On which side of each boundary the device is.
    private var sides: [RegionState] {
        order.flatMap { app in
            (apps[app]?.regions ?? [:]).keys.sorted().map { plan.state(of: $0, of: app) }
        }
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

    /// The apps that are told of significant changes now, in an order that is the same everywhere.
    var watchingChanges: [AppID] { order.filter { apps[$0]?.monitorsSignificantChanges == true && isWatched($0) } }

    private mutating func take(cell name: String, since time: Double, _ now: LocationMoment) {
        guard cell?.name != name else { return }
        cell = KnownCell(name: name, since: time, isPlaced: false)
        if let place, time - place.time <= Self.cellFreshness {
            // The place of a moment ago is where the new cell is.
            self.cell?.isPlaced = true
            for app in watchingChanges { change(app, at: place, cell: name, now) }
        } else if !canMonitorRegions {
            tellWithoutPlace(now)
        }
    }

    /// Nobody can say where the new cell is: that it is another one is told all the same.
    private mutating func tellWithoutPlace(_ now: LocationMoment) {
        guard let cell, !cell.isPlaced, let origin = Coordinate(latitude: 0, longitude: 0),
            let fix = Fix(place: origin, accuracy: Self.nowhere, time: now.bootSeconds)
        else { return }
        self.cell?.isPlaced = true
        for app in watchingChanges {
            guard apps[app]?.change != SignificantChange() else {
                // The first it hears of is a place. From here on another cell is a change.
                _ = apps[app]?.change.moved(to: SignificantChange.Place(fix: fix, cell: cell.name))
                marks.apps.insert(app)
                continue
            }
            change(app, at: fix, cell: cell.name, now)
        }
    }

    /// Tells an app the last place that is known, where it has not been told of any.
    mutating func tellLastPlace(_ app: AppID, _ now: LocationMoment) {
        guard let place, apps[app]?.monitorsSignificantChanges == true, isWatched(app) else { return }
        change(app, at: place, now)
    }

    private mutating func change(_ app: AppID, at fix: Fix, _ now: LocationMoment) {
        // A place from before the device came into the cell is not in it.
        change(app, at: fix, cell: cell.flatMap { fix.time >= $0.since ? $0.name : nil }, now)
    }

    private mutating func change(_ app: AppID, at fix: Fix, cell: String?, _ now: LocationMoment) {
        guard let told = apps[app]?.change.moved(to: SignificantChange.Place(fix: fix, cell: cell)) else { return }
        tellChange(app, told, now)
    }

    /// Places that were held back because another one had been told a short while before.
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

    // MARK: - Telling

    private mutating func tell(
        _ app: AppID, _ source: WakeSource, _ key: String, _ event: LocationEvent, _ now: LocationMoment
    ) {
        apps[app]?.wakes += 1
        // In front it is told at once. One that has left it is not woken, though its leaving may not be known yet.
        let patience = apps[app]?.permission == .whenInUse ? Self.frontPatience : nil
        let wake = LocationWake(app: app, source: source, key: key, event: event, patience: patience)
        marks.begun.removeAll { $0.app == app && $0.source == source && $0.key == key }
        marks.begun.append(wake)
        marks.apps.insert(app)
    }

    func described(_ fix: Fix, _ now: LocationMoment) -> Place {
        Place(
            fix.place, accuracy: fix.accuracy,
            time: Date(timeIntervalSince1970: now.wallSeconds(of: fix.time)))
    }

    // MARK: - Asking the receiver

    /// When a fix is wanted because of significant changes: nowhere is known yet, or a cell is new. Not while the device dozes.
    private func changesDue(_ now: LocationMoment) -> Double? {
        // A receiver alone is not on for them.
        guard canMonitorSignificantChanges, canMonitorRegions, !watchingChanges.isEmpty, moment.phase != .dozing else {
            return nil
        }
        let isWanted = place == nil || cell?.isPlaced == false
        return isWanted ? max(changesAsked + SignificantChange.pause, cell?.since ?? -.infinity) : nil
    }

    /// When the receiver is asked next; nil while it stays off.
    func nextFix(_ now: LocationMoment) -> Double? {
        let watched = [plan.due, changesDue(now)].compactMap(\.self).min().map { max($0, retryAt) }
        // Apps that wait in front are not made to wait for the next try of those that do not.
        return [watched, followers.due].compactMap(\.self).min().map { max($0, now.bootSeconds) }
    }

    mutating func askForFix(_ now: LocationMoment) {
        let time = now.bootSeconds
        if let request, time - request.since >= Self.patience { requestEnded(0, now) }
        let isForChanges = changesDue(now).map { $0 <= time } ?? false
        let question = followers.question(at: time)
        // Who needs one in a moment shares it.
        var wanting = plan.apps.filter { app in plan.due(of: app).map { $0 <= time } ?? false }
        if !wanting.isEmpty || isForChanges || question != nil {
            wanting = plan.apps.filter { app in plan.due(of: app).map { $0 <= time + Self.sharing } ?? false }
        }
        let accuracies =
            wanting.compactMap { plan.accuracy(of: $0) } + (isForChanges ? [SignificantChange.distance] : [])
            + [question?.accuracy].compactMap(\.self)
        guard let accuracy = accuracies.min() else {
            // Nobody wants it now. One that was answered has yet to say how long it took.
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
        request = FixRequest(
            since: time, accuracy: accuracy, apps: apps, isForRegions: !wanting.isEmpty, isForChanges: isForChanges,
            patience: question == nil ? FixWish.usualPatience : Self.patienceInFront, isRepeated: repeatsQuestion)
        repeatsQuestion = false
        charged = apps
        followers.ask(for: question?.numbers ?? [], now: time)
        if isForChanges { changesAsked = time }
        // Also where it is the same as the one before: that one has ended.
        wish = currentWish
    }

    /// The question for the sources.
    var currentWish: FixWish {
        FixWish(
            fix: request?.accuracy, watchesChanges: !watchingChanges.isEmpty,
            patience: request?.patience ?? FixWish.usualPatience)
    }

    private func apps(asking question: LocationFollowers.Question?) -> Set<AppID> {
        followers.apps(of: question?.numbers ?? [])
    }

    /// Has the question under way answer apps that ask meanwhile: one that has little time and is fine enough as it is, and one that has
    /// time made as fine and as quick as they want it. Others wait for its end.
    private mutating func join(_ question: LocationFollowers.Question, _ time: Double) {
        guard let request, !request.isAnswered else { return }
        let isPatient = request.patience > Self.patienceInFront
        let numbers =
            isPatient ? question.numbers : followers.joining(question, accuracy: request.accuracy)
        guard !numbers.isEmpty else { return }
        followers.ask(for: numbers, now: time)
        let apps = followers.apps(of: numbers)
        self.request?.apps.formUnion(apps)
        charged.formUnion(apps)
        guard isPatient else { return }
        self.request?.accuracy = min(request.accuracy, question.accuracy)
        self.request?.patience = Self.patienceInFront
        wish = currentWish
    }

    /// The receiver is off again.
    private mutating func requestEnded(_ seconds: Double, _ now: LocationMoment) {
        charge(seconds, now)
        guard let ended = request else { return }
        request = nil
        // One that was withdrawn just before may have ended, and not this one.
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

    /// The apps that wanted the fix share the receiver's time.
    private mutating func charge(_ seconds: Double, _ now: LocationMoment) {
        let sharers = charged.filter { apps[$0] != nil }
        guard seconds > 0, seconds.isFinite, !sharers.isEmpty else { return }
        if marks.later.isEmpty { marks.laterSince = now.bootSeconds }
        for app in sharers { apps[app]?.receiver.add(seconds / Double(sharers.count), now.local) }
        marks.later.formUnion(sharers)
    }

    /// Seconds between a place and a new cell within which the place is in it.
    private static let cellFreshness = 30.0
    /// Seconds by which a fix may come too early for an app that shares it.
    private static let sharing = FixSchedule.shortest / 2
    /// Seconds that the sources have for a fix that a running app waits for; then the app is given the best so far.
    static let patienceInFront = 15.0
    /// Seconds until a fix is asked for again whose request has ended at once.
    private static let soon = 5.0
    /// Metres of accuracy that say nothing: half the way around the earth.
    static let nowhere = 20_100_000.0
}
