import Apps
import Location
import NightshiftAPI
import Refresh
import Runtime
import Scheduler
import Store

/// Regions and significant changes. The location state of the service receives the events, and this code executes its
/// decisions.
extension World {
    private var locationNow: LocationMoment { LocationMoment(bootSeconds: clock.bootSeconds, local: localNow) }

    /// The boot time in seconds of the location state's next decision or the receiver's next result, if no event
    /// happens before.
    var nextLocationLook: Double? {
        // The time is rounded up to a millisecond, so that the deadline has been reached by then.
        let look = location.book.nextDeadline.map { ($0 * 1_000).rounded(.up) / 1_000 }
        return [look, location.receiver.request?.until].compactMap(\.self).min()
    }

    mutating func beginLocation() {
        guard location.takesPart else { return }
        location.book.read(refresh.book.manifests.values.sorted { $0.id.rawValue < $1.id.rawValue }, now: locationNow)
        location.book.apply(moment)
        if location.hasPlaces {
            let source = LocationStatus.SourceStatus(
                name: "override", isAvailable: true, sentence: "The trace provides the location.")
            location.book.take(
                .sources([source], canMonitorRegions: true, canMonitorSignificantChanges: true), now: locationNow)
        }
        location.isToLook = true
        _ = followLocation()
    }

    // MARK: - Events

    /// Moves the device to another location. The receiver finds the location when it is asked. The network reports the
    /// location at once if changes are wanted.
    mutating func moved(to place: LocationOverride?) {
        location.place = place
        guard location.watchesChanges, let fix = location.fix(now: clock.bootSeconds) else { return }
        location.book.take(.fix(fix, source: "override"), now: locationNow)
        location.isToLook = true
    }

    mutating func watch(_ region: TracedRegion, _ app: AppID) {
        do throws(Problem) {
            if let new = region.region {
                try location.book.addRegion(new, for: app, now: locationNow)
            } else {
                try location.book.removeRegion(region.identifier, of: app, now: locationNow)
            }
        } catch {
            // The app receives the error that it monitors too many regions. The journal then shows no region.
        }
        location.isToLook = true
    }

    mutating func change(_ change: TracedLocation, _ app: AppID) {
        do throws(Problem) {
            if let permission = change.permission {
                try location.book.change(app, AppLocationChange(permission: permission), now: locationNow)
            }
            if let changes = change.changes {
                try location.book.setSignificantChanges(changes, for: app, now: locationNow)
            }
        } catch {
            // The service refuses no request, because every app of a trace has a desktop entry.
        }
        location.isToLook = true
    }

    /// Ends a wake of an app.
    mutating func finishLocationWake(_ wake: WantedWake, _ index: Int) {
        guard apps[index].locationWakes.contains(wake) else { return }
        apps[index].locationWakes.removeAll { $0 == wake }
        location.countWake()
    }

    // MARK: - Decisions

    /// Sends new events to the location state, lets it decide, and executes the decisions.
    ///
    /// - Returns: whether a decision was executed to which other features may respond.
    mutating func followLocation() -> Bool {
        guard location.takesPart else { return false }
        var hasActed = false
        while true {
            takeFromReceiver()
            for call in location.calls {
                location.isToLook = true
                switch call {
                case .use(let app, let isInFront):
                    location.book.use(app, isInFront: isInFront, now: locationNow)
                case .forceQuit(let app): location.book.forceQuit(app, now: locationNow)
                case .launched(let app): location.book.launched(app, now: locationNow)
                }
            }
            location.calls = []
            guard location.isToLook else { return hasActed }
            location.isToLook = false
            location.book.decide(at: locationNow)
            if let wish = location.book.takeWish() { ask(wish) }
            hasActed = carryOutLocation() || hasActed
        }
    }

    /// Reads the receiver's result when it is due.
    private mutating func takeFromReceiver() {
        guard let request = location.receiver.request, request.until <= clock.bootSeconds else { return }
        if let fix = location.fix(now: clock.bootSeconds) {
            location.book.take(.fix(fix, source: "override"), now: locationNow)
        }
        turnReceiverOff()
    }

    private mutating func turnReceiverOff() {
        guard let seconds = location.receiver.turnOff(now: clock.bootSeconds) else { return }
        location.countReceiver(seconds)
        location.book.take(.receiver(seconds: seconds), now: locationNow)
        location.isToLook = true
    }

    private mutating func ask(_ wish: FixDemand) {
        let began = wish.watchesChanges && !location.watchesChanges
        location.watchesChanges = wish.watchesChanges
        if wish.fix != nil {
            location.receiver.turnOn(seesPlace: location.place != nil, now: clock.bootSeconds)
        } else {
            turnReceiverOff()
        }
        // The network reports the location as soon as the service asks for it.
        if began, let fix = location.fix(now: clock.bootSeconds) {
            location.book.take(.fix(fix, source: "override"), now: locationNow)
            location.isToLook = true
        }
    }

    private mutating func carryOutLocation() -> Bool {
        let effects = location.book.takeEffects()
        let (outputs, entries) = (location.book.outbox.rows, location.book.journal.rows)
        location.book.countAsWritten()
        for entry in entries { record(entry) }
        var touched: [AppID] = []
        for output in outputs {
            switch output {
            case .begin(let wake):
                location.count(wake)
                let index = index(of: wake.app)
                // A new row replaces the row with the same key.
                apps[index].locationWakes.removeAll { $0.source == wake.source && $0.key == wake.key }
                apps[index].locationWakes.append(location.row(wake, now))
                touched.append(wake.app)
            case .cancel(let cancellation):
                let index = index(of: cancellation.app)
                apps[index].locationWakes.removeAll { cancellation.covers($0) }
                touched.append(cancellation.app)
            // Apps of a trace stay installed.
            case .remove: break
            }
        }
        for case .wakesChanged(let app) in effects { touched.append(app) }
        for app in touched {
            let index = index(of: app)
            perform(index) { [wanted = apps[index].wanted] in $0.setWantedWakes(wanted, now: $1) }
        }
        return !touched.isEmpty
    }
}

extension LocationCancellation {
    fileprivate func covers(_ wake: WantedWake) -> Bool {
        switch self {
        case .all(let app): wake.app == app
        case .region(let app, let identifier): wake.app == app && wake.source == .region && wake.key == identifier
        case .significantChange(let app): wake.app == app && wake.source == .significantChange
        }
    }
}
