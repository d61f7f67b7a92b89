import Foundation
import Location
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the rules of location that hold after any inputs and any crash (R6, R7).
@Suite struct StateWalkTests {
    /// A device that walks between four corners of a block and rests, with random inputs of people and apps.
    private struct Walk {
        static let apps = (0..<4).map { AppID(rawValue: "org.example.App\($0)") }
        var random: SplitMix64
        var scene = LocationScene()
        var mistakes: [String] = []
        /// The users' settings, recorded independently of the state under test.
        var permission: [AppID: LocationPermission] = [:]
        var inFront: Set<AppID> = []
        var isQuit: Set<AppID> = []
        var regions: [AppID: [String: MonitoredRegion]] = [:]
        /// The last event of each region, since it was added or its app was allowed.
        var last: [String: LocationEvent.Kind] = [:]
        var east = 1_000.0
        var north = 0.0
        private var judged = 0

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            scene.tellSources()
            for app in Self.apps {
                permission[app] = .always
                scene.install(app)
            }
            place()
        }

        mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }

        mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

        func isWatched(_ app: AppID) -> Bool {
            guard !isQuit.contains(app) else { return false }
            return permission[app] == .always || permission[app] == .whenInUse && inFront.contains(app)
        }

        /// Moves the device in a straight line at 1.5 m/s and then lets it rest.
        private mutating func place() {
            let (fromEast, fromNorth, start) = (east, north, scene.boot)
            let (toEast, toNorth) = (pick([-900.0, 0, 40, 900]), pick([-700.0, 0, 700]))
            let length = ((toEast - fromEast) * (toEast - fromEast) + (toNorth - fromNorth) * (toNorth - fromNorth))
                .squareRoot()
            (east, north) = (toEast, toNorth)
            scene.track = { time in
                let part = length == 0 ? 1 : min(1, max(0, (time - start) * 1.5 / length))
                return (fromEast + (toEast - fromEast) * part, fromNorth + (toNorth - fromNorth) * part)
            }
        }

        /// Lets the device arrive and stay there for a while.
        mutating func arrive() {
            for _ in 0..<8 {
                scene.pass(450)
                judge()
            }
        }

        mutating func step() throws {
            let app = pick(Self.apps)
            switch Int.random(in: 0..<14, using: &random) {
            case 0, 1: add(app)
            case 2:
                guard let identifier = regions[app]?.keys.sorted().first, chance(2) else { return }
                regions[app]?[identifier] = nil
                last["\(app) \(identifier)"] = nil
                scene.step { _ = try? $0.removeRegion(identifier, of: app, now: $1) }
            case 3:
                permission[app] = pick([.always, .always, .whenInUse, .denied])
                let permission = permission[app] ?? .ask
                if permission == .denied { forget(app) }
                scene.permit(permission, app)
            case 4, 5:
                let comes = !inFront.contains(app)
                if comes { isQuit.remove(app) }
                if comes { inFront.insert(app) } else { inFront.remove(app) }
                scene.step { book, now in
                    if comes { book.launched(app, now: now) }
                    book.use(app, isInFront: comes, now: now)
                }
            case 6:
                guard chance(3) else { return }
                inFront.remove(app)
                isQuit.insert(app)
                scene.step { $0.forceQuit(app, now: $1) }
            case 7:
                forgetWhatWasTold()
                scene.isFull = chance(3)
                // The state writes changes again that could not be written.
                scene.look()
            case 8: scene.watchChanges(chance(2), app)
            case 9: try restart()
            case 10: scene.accuracy = pick([5, 20, 60])
            default:
                place()
                arrive()
            }
            judge()
            scene.pass(pick([1, 30, 300, 2_000]))
            judge()
        }

        private mutating func add(_ app: AppID) {
            let identifier = pick(["a", "b", "c"])
            let region = LocationScene.region(
                identifier, east: pick([0, 900]), north: pick([0, 700]), radius: pick([120, 200, 300]))
            if regions[app]?[identifier] != region { last["\(app) \(identifier)"] = nil }
            regions[app, default: [:]][identifier] = region
            scene.add(region, for: app)
        }

        /// Clears the recorded events while the disk is full. Of several unwritten events, only the last is sent.
        private mutating func forgetWhatWasTold() { if scene.isFull { last = [:] } }

        private mutating func forget(_ app: AppID) {
            for identifier in (regions[app] ?? [:]).keys { last["\(app) \(identifier)"] = nil }
        }

        private mutating func restart() throws {
            // The users' requests that have a response are on disk, or were refused with an error.
            forgetWhatWasTold()
            scene.isFull = false
            scene.look()
            judge()
            try scene.restart(off: chance(2) ? 5_000 : nil)
            scene.tellSources()
            // The clock of the walk may have restarted.
            let (east, north) = (east, north)
            scene.track = { _ in (east, north) }
            // Apps report their states again: in the foreground, or force-quit.
            for app in Self.apps {
                if isQuit.contains(app) { scene.step { $0.forceQuit(app, now: $1) } }
                if inFront.contains(app) { scene.step { $0.use(app, isInFront: true, now: $1) } }
            }
        }

        // MARK: - Checks

        mutating func judge() {
            for (wake, time) in scene.told[min(judged, scene.told.count)...] {
                if let mistake = mistake(wake) { mistakes.append("\(wake.app) \(wake.key) at \(time): \(mistake)") }
            }
            judged = scene.told.count
            forgetWhatWasTold()
            for app in Self.apps {
                let known = (scene.status(app)?.regions ?? []).map(\.region)
                let wanted = (regions[app] ?? [:]).values.sorted { $0.identifier < $1.identifier }
                if known != wanted { mistakes.append("\(app): other regions") }
                // On a full disk, the rows to delete still exist.
                let isKept = scene.rows.wakes.contains { $0.app == app }
                if !scene.isFull, isKept, permission[app] == .denied {
                    mistakes.append("\(app) is to be told of what it may not know")
                }
            }
        }

        private mutating func mistake(_ wake: LocationWake) -> String? {
            guard wake.source == .region else { return nil }
            guard let region = regions[wake.app]?[wake.key], region == wake.event.region else {
                return "no such region"
            }
            guard permission[wake.app] != .denied else { return "not allowed" }
            let key = "\(wake.app) \(wake.key)"
            defer { last[key] = wake.event.kind }
            if last[key] == wake.event.kind { return "told twice: \(wake.event.kind)" }
            guard let place = wake.event.place,
                let there = Coordinate(latitude: place.latitude, longitude: place.longitude)
            else { return "without a place" }
            let isInside = region.center.distance(to: there) < region.radius
            return isInside == (wake.event.kind == .entered) ? nil : "not there"
        }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `R6: In random walks each region event is real, and each region ends in the correct state`(seed: UInt64)
        throws
    {
        var walk = Walk(seed: seed)
        for _ in 0..<80 { try walk.step() }
        #expect(walk.mistakes.prefix(5) == [], "seed \(seed)")
        #expect(walk.scene.loops < 200_000, "seed \(seed)")
        // At the end the device rests and the disk works, so every side is right.
        walk.judge()
        walk.scene.isFull = false
        walk.scene.accuracy = 5
        walk.arrive()
        let (east, north) = walk.scene.track(walk.scene.boot)
        let place = LocationScene.place(east, north)
        for app in Walk.apps where walk.isWatched(app) {
            for region in walk.scene.status(app)?.regions ?? [] {
                let away = region.region.center.distance(to: place)
                // Close to the boundary, both sides count as right.
                guard abs(away - region.region.radius) > 60 else { continue }
                #expect(region.state == (away < region.region.radius ? .inside : .outside), "seed \(seed)")
            }
        }
        #expect(walk.mistakes.prefix(5) == [], "seed \(seed)")
    }

    @Test func `R6: The random walks produce region events`() throws {
        var told = 0
        for seed in 0..<4 as Range<UInt64> {
            var walk = Walk(seed: seed)
            for _ in 0..<80 { try walk.step() }
            told += walk.scene.told.count { $0.wake.source == .region }
        }
        #expect(told > 10)
    }
}
