import Foundation
import Location
import NightshiftAPI
import Scheduler
import Store

/// A location state whose rows are values, with a device at the location that the test sets and a receiver that answers
/// after a few seconds. Locations are metres east and north of a point in Berlin.
struct LocationScene {
    var book = LocationState(bootID: "boot")
    /// The state that the disk contains.
    private var durable = LocationState(bootID: "boot")
    private(set) var rows = LocationRows()
    /// The events that the state has sent, with their times.
    private(set) var told: [(wake: LocationWake, at: Double)] = []
    private(set) var effects: [LocationEffect] = []
    private(set) var wish = FixDemand()
    /// The times and accuracies of the source requests.
    private(set) var asked: [(at: Double, accuracy: Double)] = []
    private(set) var boot = 1_000.0
    /// The seconds since 1970 at the boot of the device.
    var wallOffset = 1_800_000_000.0
    /// A closure that returns the location of the device at a time.
    var track: @Sendable (Double) -> (east: Double, north: Double) = { _ in (1_000, 0) }
    var accuracy = 5.0
    var hasReceiver = true
    var delay = 4.0
    /// Whether the disk refuses every write.
    var isFull = false
    private(set) var loops = 0
    private var answer: Double?
    private var bootID = "boot"
    /// The seconds of uptime in earlier boots.
    private var seenBefore = 0.0

    static let app = AppID(rawValue: "org.example.Home")
    static let other = AppID(rawValue: "org.example.Work")

    /// The metres of one degree of latitude.
    private static let degree = Coordinate.earthRadius * .pi / 180

    static func place(_ east: Double, _ north: Double = 0) -> Coordinate {
        let latitude = 52.5 + north / degree
        let place = Coordinate(latitude: latitude, longitude: 13.4 + east / (degree * cos(52.5 * .pi / 180)))
        guard let place else { preconditionFailure("Nobody walks that far.") }
        return place
    }

    static func region(
        _ identifier: String = "home", east: Double = 0, north: Double = 0, radius: Double = 100
    ) -> MonitoredRegion {
        MonitoredRegion(identifier: identifier, center: place(east, north), radius: radius)
    }

    static func manifest(_ id: AppID = app) -> AppManifest {
        var manifest = AppManifest(
            id: id, name: "Home", entry: "/apps/\(id.rawValue).desktop", command: ["/bin/true"])
        manifest.locationReason = "It waters the plants."
        return manifest
    }

    var now: LocationMoment {
        LocationMoment(bootSeconds: boot, local: LocalMoment(seconds: wallOffset + boot))
    }

    // MARK: - Steps

    /// Gives the state an input, lets it decide, and writes the changes.
    mutating func step(_ input: (inout LocationState, LocationMoment) throws -> Void) rethrows {
        try input(&book, now)
        look()
    }

    mutating func look() {
        book.decide(at: now)
        if let wish = book.takeWish() {
            self.wish = wish
            answer = wish.fix == nil ? nil : boot + delay
            if let accuracy = wish.fix { asked.append((boot, accuracy)) }
        }
        write()
        effects += book.takeEffects()
    }

    private mutating func write() {
        let changes = book.changes(since: durable)
        guard !changes.isEmpty, !isFull else { return }
        rows.write(changes)
        for case .begin(let wake) in changes.outputs { told.append((wake, boot)) }
        book.wrote(book)
        durable = book
    }

    mutating func install(_ app: AppID = app, _ permission: LocationPermission = .always) {
        step { book, now in
            book.installed(app, Self.manifest(app), now: now)
            try? book.change(app, AppLocationChange(permission: permission), now: now)
        }
    }

    mutating func add(_ region: MonitoredRegion = region(), for app: AppID = app) {
        step { try? $0.addRegion(region, for: app, now: $1) }
    }

    mutating func permit(_ permission: LocationPermission, _ app: AppID = app) {
        step { try? $0.change(app, AppLocationChange(permission: permission), now: $1) }
    }

    mutating func watchChanges(_ isOn: Bool = true, _ app: AppID = app) {
        step { try? $0.setSignificantChanges(isOn, for: app, now: $1) }
    }

    /// Moves the device to another location, where it stays.
    mutating func move(_ east: Double, _ north: Double = 0) { track = { _ in (east, north) } }

    /// Lets time pass: the state decides at its deadlines, and the receiver answers.
    mutating func pass(_ seconds: Double) {
        let end = boot + seconds
        while let next = [book.nextDeadline, answer].compactMap(\.self).min(), next <= end {
            loops += 1
            // Without this limit a state with endless deadlines would never finish.
            guard loops < 200_000 else { return }
            boot = max(boot, next)
            if let answer, answer <= boot { giveFix() } else { look() }
        }
        boot = end
        look()
    }

    private mutating func giveFix() {
        answer = nil
        if hasReceiver { tell() }
        step { [delay] in $0.take(.receiver(seconds: delay), now: $1) }
    }

    /// Reports the location of the device, whether or not it was requested.
    mutating func tell(accuracy told: Double? = nil) {
        let (east, north) = track(boot)
        guard let fix = Fix(place: Self.place(east, north), accuracy: told ?? accuracy, time: boot) else { return }
        step { $0.take(.fix(fix, source: "gpsd"), now: $1) }
    }

    mutating func tell(cell: String) { step { [boot] in $0.take(.cell(cell, time: boot), now: $1) } }

    mutating func tellSources(regions: Bool = true, changes: Bool = true) {
        step { $0.take(.sources([], canMonitorRegions: regions, canMonitorSignificantChanges: changes), now: $1) }
    }

    /// Restarts the service with the stored state.
    ///
    /// - Parameter off: the seconds for which the machine was off; nil without a reboot.
    mutating func restart(off: Double? = nil, manifests: [AppManifest]?? = .none) throws {
        if let off {
            bootID = "boot \(boot)"
            // The boot clock restarts.
            wallOffset += boot + off - 10
            seenBefore += boot
            boot = 10
        }
        let manifests = manifests ?? Array(book.manifests.values)
        durable = LocationState(try rows.kept())
        book = durable
        book.begin(manifests, bootID: bootID, seenBefore: seenBefore, now: now)
        answer = nil
        wish = FixDemand()
        look()
    }

    // MARK: - Results

    func status(_ app: AppID = app) -> AppLocationStatus? { book.status(of: app, now) }

    func state(_ identifier: String = "home", of app: AppID = app) -> RegionState? {
        status(app)?.regions.first { $0.region.identifier == identifier }?.state
    }

    /// The sent events as text.
    var words: [String] { told.map { "\($0.wake.event.kind) \($0.wake.key)" } }

    func entries(_ decision: Decision) -> [JournalEntry] { rows.journal.filter { $0.decision == decision } }
}

/// The contents of the store, in the store's encoding.
struct LocationRows {
    private var apps: [AppID: Data] = [:]
    private var device: Data?
    private(set) var wakes: [LocationWake] = []
    private(set) var journal: [JournalEntry] = []
    private(set) var writes = 0

    mutating func write(_ changes: LocationChanges) {
        writes += 1
        for output in changes.outputs {
            switch output {
            case .begin(let wake):
                wakes.removeAll { ($0.app, $0.source, $0.key) == (wake.app, wake.source, wake.key) }
                wakes.append(wake)
            case .cancel(let cancellation): wakes.removeAll { cancellation.covers($0) }
            case .remove(let app):
                apps[app] = nil
                wakes.removeAll { $0.app == app }
            }
        }
        for (app, record) in changes.apps { apps[app] = try? JSON.encode(record) }
        if let record = changes.device { device = try? JSON.encode(record) }
        journal += changes.entries
    }

    func kept() throws -> StoredLocation<LocationRecord, DeviceLocationRecord> {
        var kept = StoredLocation<LocationRecord, DeviceLocationRecord>()
        kept.apps = try apps.mapValues { try JSON.decode(LocationRecord.self, from: $0) }
        kept.device = try device.map { try JSON.decode(DeviceLocationRecord.self, from: $0) }
        return kept
    }

    var known: Set<AppID> { Set(apps.keys) }
}
