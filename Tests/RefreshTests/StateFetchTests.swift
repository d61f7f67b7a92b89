import Foundation
import NightshiftAPI
import Refresh
import Scheduler
import Store
import Testing

/// R1: Ordinary background fetches, from the interval to the result.
@Suite struct StateFetchTests {
    private typealias Scene = StateScene

    @Test func `R1: The service has no next deadline if no app participates`() {
        var scene = Scene()
        scene.look()
        #expect(scene.book.nextDeadline == nil && scene.rows.known.isEmpty)
        scene.install(Scene.manifest(modes: [.transfer]))
        scene.install(Scene.manifest(Scene.other))
        #expect(scene.book.nextDeadline == nil && scene.rows.known.isEmpty && scene.begun.isEmpty)
        #expect(scene.status()?.availability == .restricted && scene.status()?.hold == "never")
        #expect(scene.status()?.sentence.contains("X-Nightshift-BackgroundModes") == true)
        #expect(scene.book.status(scene.now).apps.map(\.app) == [Scene.other])
    }

    @Test func `R1: An app with an interval in its entry gets fetches, and each fetch is recorded`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        scene.pass(to: 24)
        let first = try #require(scene.begun.first)
        #expect(first.wake.app == Scene.app && first.wake.source == .fetch && first.wake.key == "")
        #expect(first.wake.timeout == 900)
        #expect((6...23).contains(first.hour))
        #expect(scene.fetches.count == scene.begun.count && scene.rows.wakes.isEmpty && scene.rows.ends.isEmpty)
        #expect(scene.fetches.allSatisfy { $0.result == .newData && $0.ended != nil && $0.bytes == 1_000 })
        #expect(scene.entries(.fetchBegan).count == scene.begun.count)
        #expect(scene.entries(.fetchEnded).count == scene.begun.count)
        #expect(scene.entries(.fetchEnded).first?.inputs?["result"] == "newData")
        #expect(scene.book.nextDeadline != nil)
    }

    @Test func `R1: The user's interval overrides the app's, which overrides the desktop entry's`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        #expect(scene.status()?.interval == .minimum && scene.status()?.intervalSource == .entry)
        scene.step { $0.set(.seconds(900), byAppOf: Scene.app, now: $1) }
        #expect(scene.status()?.interval == .seconds(900) && scene.status()?.intervalSource == .app)
        try scene.step { try $0.change(Scene.app, AppRefreshChange(interval: "never"), now: $1) }
        #expect(scene.status()?.interval == .never && scene.status()?.intervalSource == .user)
        #expect(scene.status()?.sentence == "You have set the app's interval to never.")
        scene.pass(to: 48)
        #expect(scene.begun.isEmpty)
        try scene.step { try $0.change(Scene.app, AppRefreshChange(interval: "default"), now: $1) }
        #expect(scene.status()?.intervalSource == .app)
        scene.pass(to: 72)
        #expect(!scene.begun.isEmpty)
    }

    @Test(arguments: ["", "soon", "-1", "1e3", "31536001"])
    func `R1: An invalid interval is refused`(text: String) {
        var scene = Scene()
        scene.install()
        #expect(throws: Problem.self) {
            try scene.step { try $0.change(Scene.app, AppRefreshChange(interval: text), now: $1) }
        }
        #expect(throws: Problem.self) {
            try scene.step { try $0.change(Scene.app, AppRefreshChange(dailyCap: -2), now: $1) }
        }
        #expect(throws: Problem.self) {
            try scene.step { try $0.change(RefreshChange(dailyBytes: -1), now: $1) }
        }
        #expect(scene.entries(.refreshChanged).isEmpty)
    }

    @Test func `R1: An app's fetches do not overlap, and are at least its custom interval apart`() {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .seconds(14_400)))
        scene.pass(to: 96)
        let hours = scene.begun.map(\.hour)
        #expect(hours.count >= 4)
        #expect(zip(hours, hours.dropFirst()).allSatisfy { $1 - $0 >= 4 })
        scene.result = nil
        let before = hours.count
        scene.pass(to: 192)
        #expect(scene.begun.count == before + 1)
        #expect(scene.status()?.hold == "underWay" && scene.fetches.last?.ended == nil)
    }

    @Test func `R1: A switch that is off prevents fetches, and the app is notified`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        try scene.step { try $0.change(Scene.app, AppRefreshChange(isOn: false), now: $1) }
        #expect(scene.status()?.availability == .denied && scene.effects == [.availability(Scene.app)])
        scene.pass(to: 24)
        #expect(scene.begun.isEmpty && scene.status()?.hold == "appSwitchedOff")
        try scene.step { try $0.change(Scene.app, AppRefreshChange(isOn: true), now: $1) }
        try scene.step { try $0.change(RefreshChange(isOn: false), now: $1) }
        #expect(scene.effects.count == 3 && scene.status()?.availability == .denied)
        scene.pass(to: 48)
        #expect(scene.begun.isEmpty && scene.book.status(scene.now).sentence == RefreshHold.allSwitchedOff.sentence)
        // The settings survive a restart.
        try scene.restart()
        #expect(!scene.book.isOn && scene.status()?.availability == .denied)
        try scene.step { try $0.change(RefreshChange(isOn: true), now: $1) }
        scene.pass(to: 72)
        #expect(!scene.begun.isEmpty)
    }

    @Test func `R1: No fetch of a force-quit app begins until the user starts the app`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        scene.step { $0.forceQuit(Scene.app, now: $1) }
        scene.pass(to: 24)
        try scene.restart()
        scene.pass(to: 48)
        #expect(scene.begun.isEmpty && scene.status()?.hold == "forceQuit")
        #expect(throws: Problem.conflict(RefreshHold.forceQuit.sentence)) {
            try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        }
        scene.step { book, _ in book.launched(Scene.app) }
        scene.pass(to: 72)
        #expect(!scene.begun.isEmpty)
    }

    @Test func `R1 R9: A requested fetch begins at once unless the fetch is forbidden`() throws {
        var scene = Scene()
        scene.result = nil
        scene.install()
        scene.install(Scene.manifest(Scene.other, modes: [.processing]))
        try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        #expect(scene.begun.map(\.wake.app) == [Scene.app] && scene.status()?.hold == "underWay")
        #expect(scene.fetches.first?.detail == "You requested this fetch.")
        for (app, word) in [
            (Scene.app, "fetching"), (Scene.other, "X-Nightshift-BackgroundModes"), (AppID(rawValue: "no"), "no app"),
        ] {
            let problem = #expect(throws: Problem.self) { try scene.step { try $0.fetchNow(app, now: $1) } }
            #expect(problem?.detail?.contains(word) == true, "\(app)")
        }
        scene.end(scene.begun[0].wake, .noData)
        scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
        #expect(throws: Problem.conflict(RefreshHold.inFront.sentence)) {
            try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        }
        #expect(scene.begun.count == 1)
    }

    @Test func `R1: The end of a fetch counts once, and the end of an unknown fetch never`() throws {
        var scene = Scene()
        scene.result = nil
        scene.install()
        try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        let wake = scene.begun[0].wake
        let row = StoredWakeEnd(
            id: 1, app: Scene.app, source: .fetch, key: "", wake: 1,
            end: WakeEnd(result: .noData, time: scene.seconds + 4))
        var stranger = row
        (stranger.id, stranger.app) = (2, Scene.other)
        let ends = [RefreshEnd(row: row, bytes: 7), RefreshEnd(row: stranger, bytes: 7)]
        scene.step { $0.take(ends, now: $1) }
        try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        // The same rows arrive again, as from a second read that began before they were deleted.
        scene.step { $0.take(ends, now: $1) }
        #expect(scene.fetches.map(\.result) == [.noData, nil] && scene.fetches[0].bytes == 7)
        #expect(scene.entries(.fetchEnded).count == 1 && wake.key == "")
    }

    @Test func `R1: A restarted service handles fetches that still run, have ended or were lost`() throws {
        for fate in 0..<3 {
            var scene = Scene()
            scene.result = nil
            scene.install()
            try scene.step { try $0.fetchNow(Scene.app, now: $1) }
            let wake = scene.begun[0].wake
            if fate == 1 { scene.endUnheard(wake, .newData) }
            if fate == 2 { scene.lose(wake) }
            try scene.restart()
            #expect(scene.rows.ends.isEmpty)
            switch fate {
            case 0:
                #expect(scene.status()?.hold == nil || scene.status()?.hold == "underWay")
                #expect(scene.fetches.map(\.result) == [nil])
                scene.end(wake, .noData)
                #expect(scene.fetches.map(\.result) == [.noData])
            case 1: #expect(scene.fetches.map(\.result) == [.newData] && scene.fetches[0].detail?.isEmpty == false)
            default:
                #expect(scene.fetches.map(\.result) == [nil] && scene.fetches[0].ended != nil)
                #expect(scene.fetches[0].detail?.hasSuffix("The service stopped before the app had finished.") == true)
                #expect(scene.book.planner.apps[Scene.app]?.failures == 0)
            }
            #expect(scene.entries(.fetchEnded).count == 1, "fate \(fate)")
            try scene.restart()
            #expect(scene.entries(.fetchEnded).count == 1, "fate \(fate), and once more")
        }
    }

    @Test func `R1: The removal of an app deletes its whole state`() throws {
        var scene = Scene()
        scene.result = nil
        scene.install(Scene.manifest(tasks: ["work"]))
        try scene.step { try $0.submit(Scene.task(.processing), for: Scene.app, isInFront: false, now: $1) }
        try scene.step { try $0.submit(Scene.task(.refresh, "work"), for: Scene.app, isInFront: false, now: $1) }
        try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        #expect(scene.rows.known == [Scene.app] && !scene.rows.wakes.isEmpty)
        scene.step { $0.installed(Scene.app, nil, now: $1) }
        #expect(scene.rows.known.isEmpty && scene.rows.tasks.isEmpty && scene.rows.wakes.isEmpty)
        #expect(scene.status() == nil && scene.book.planner.apps.isEmpty && scene.book.nextDeadline == nil)
        // An app with the same id starts with a new state.
        scene.install()
        #expect(scene.fetches.isEmpty && scene.status()?.interval == .never)
    }

    @Test func `R1: The removal of an app whose entry is already gone deletes its whole state`() throws {
        var scene = Scene()
        scene.result = nil
        scene.install(Scene.manifest(interval: .minimum, tasks: ["work"]))
        try scene.step { try $0.submit(Scene.task(.processing), for: Scene.app, isInFront: false, now: $1) }
        // The entries were read before the features were notified, because the service deletes the entry first.
        scene.step { $0.read([], now: $1) }
        #expect(scene.rows.known == [Scene.app])
        scene.step { $0.installed(Scene.app, nil, now: $1) }
        #expect(scene.rows.known.isEmpty && scene.rows.tasks.isEmpty && scene.book.planner.apps.isEmpty)
    }

    @Test func `R1: The learned use survives a short absence of the desktop entry, but not a long one`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        scene.pass(to: 24)
        let count = scene.fetches.count
        scene.step { $0.read([], now: $1) }
        scene.pass(to: 100)
        #expect(scene.status() == nil && scene.begun.count == count)
        try scene.restart(manifests: [])
        scene.step { $0.read([Scene.manifest(interval: .minimum)], now: $1) }
        #expect(scene.fetches.count == count)
        scene.step { $0.read([], now: $1) }
        scene.pass(to: 24 * 40)
        try scene.restart(manifests: [])
        scene.pass(to: 24 * 69)
        try scene.restart(manifests: [])
        #expect(scene.rows.known == [Scene.app])
        scene.pass(to: 24 * 71)
        try scene.restart(manifests: [])
        #expect(scene.rows.known.isEmpty)
    }

    @Test func `R1: A wall clock forty days ahead does not delete data or drop waiting tasks`() throws {
        var scene = Scene()
        scene.result = nil
        scene.install(Scene.manifest(tasks: ["work"]))
        try scene.step { try $0.submit(Scene.task(.processing), for: Scene.app, isInFront: false, now: $1) }
        try scene.restart(manifests: [])
        scene.setClock(ahead: 40)
        try scene.restart(manifests: [])
        #expect(scene.rows.known == [Scene.app] && scene.rows.tasks.count == 1)
        // The entry has been back in the meantime.
        scene.step { $0.read([Scene.manifest(tasks: ["work"])], now: $1) }
        #expect(scene.book.apps[Scene.app]?.goneSeen == nil)
    }

    @Test func `R1: A fetch and its record are on disk together, or neither`() throws {
        var scene = Scene()
        scene.install()
        try scene.book.fetchNow(Scene.app, now: scene.now)
        scene.book.decide(at: scene.now)
        // The disk has failed, and the service crashes.
        try scene.restart()
        #expect(scene.fetches.isEmpty && scene.begun.isEmpty && scene.rows.wakes.isEmpty)
        // The next write contains what an earlier one could not write.
        try scene.book.fetchNow(Scene.app, now: scene.now)
        scene.book.decide(at: scene.now)
        _ = scene.book.takeEffects()
        scene.look()
        #expect(scene.begun.count == 1 && scene.rows.wakes.count == 1 && scene.rows.known == [Scene.app])
        scene.look()
        #expect(scene.begun.count == 1)
    }

    @Test func `R1: A limited number of fetches is stored, each with its cost`() throws {
        var scene = Scene()
        scene.result = nil
        scene.install()
        let expected = RefreshCost.expected
        for number in 0..<Limits.fetches + 5 {
            try scene.step { try $0.fetchNow(Scene.app, now: $1) }
            scene.end(try #require(scene.begun.last).wake, .newData, bytes: Int64(number))
        }
        #expect(scene.fetches.count == Limits.fetches && scene.fetches.first?.bytes == 5)
        let cost = try #require(scene.book.planner.apps[Scene.app]?.cost)
        #expect(cost.bytes < expected.bytes / 100 && cost.energy < expected.energy)
    }

    @Test func `R1: The learned use can be shown and deleted`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        scene.step { $0.apply(Scene.idle(), now: $1) }
        for day in 0..<5 {
            scene.pass(to: Double(day) * 24 + 8)
            scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
            scene.pass(to: Double(day) * 24 + 8.1)
            scene.step { $0.use(Scene.app, isInFront: false, now: $1) }
        }
        let status = try #require(scene.status())
        #expect(status.openings.count == 48 && status.openings[16] > 0.4 && status.openings[4] < 0.01)
        #expect(status.lastUse == scene.now.date && !status.fetches.isEmpty)
        #expect(scene.entries(.useBegan).count == 5 && scene.entries(.useEnded).count == 5)
        #expect(status.hold != nil && !status.sentence.isEmpty && !status.against.isEmpty)
        try scene.step { try $0.forget(Scene.app, now: $1) }
        let after = try #require(scene.status())
        #expect(after.openings.isEmpty && after.fetches.isEmpty && after.lastUse == nil)
        #expect(after.interval == .minimum)
        #expect(throws: Problem.self) { try scene.step { try $0.forget(AppID(rawValue: "no"), now: $1) } }
        try scene.step { try $0.forget(nil, now: $1) }
        #expect(!scene.book.planner.rhythm.hasSeenDays)
    }

    @Test func `R1: The planner expects no fetch for an app with a daily cap of zero`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        try scene.step { try $0.change(Scene.app, AppRefreshChange(dailyCap: 0), now: $1) }
        let status = try #require(scene.status())
        #expect(status.hold == "cap" && status.expected == nil)
        #expect(status.sentence == "You have set the app's daily cap to 0, so it never fetches.")
        #expect(!status.against.contains(RefreshHold.cap.sentence) && scene.book.nextDeadline == nil)
        try scene.step { try $0.change(Scene.app, AppRefreshChange(dailyCap: 1), now: $1) }
        scene.pass(to: 24)
        #expect(scene.fetches.count == 1 || scene.status()?.hold != "cap")
    }

    @Test func `R1: The remaining budget may be negative`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        try scene.step { try $0.change(RefreshChange(dailyEnergy: 10, dailyBytes: 100), now: $1) }
        try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        let budget = scene.book.status(scene.now).budget
        #expect(budget.energyLeft < 0 && budget.bytesLeft < 0)
    }

    @Test func `R1: A missing interval differs from an interval of never`() throws {
        var scene = Scene()
        scene.install()
        #expect(scene.status()?.isIntervalSet == false)
        #expect(scene.status()?.sentence == RefreshHold.never.sentence)
        scene.step { $0.set(.never, byAppOf: Scene.app, now: $1) }
        #expect(scene.status()?.isIntervalSet == true)
        #expect(scene.status()?.sentence == "The app has set its interval to never.")
    }

    @Test func `R1 R2: The status contains no learned use after its deletion`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        for day in 0..<5 {
            scene.pass(to: Double(day) * 24 + 8)
            scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
            scene.pass(to: Double(day) * 24 + 8.1)
            scene.step { $0.use(Scene.app, isInFront: false, now: $1) }
        }
        scene.result = .failed
        try scene.step { try $0.fetchNow(Scene.app, now: $1) }
        scene.pass(to: scene.hour + 0.1)
        #expect(scene.status()?.against.contains { $0.lowercased().contains("the app's last") } == true)
        try scene.step { try $0.forget(Scene.app, now: $1) }
        let status = try #require(scene.status())
        let sentences = [status.sentence] + status.inFavour + status.against
        #expect(
            !sentences.contains {
                $0.contains("habits") || $0.contains("the app's last") || $0.contains("The app's last")
            })
    }

    @Test func `R1 R2: An app whose use is not known counts as not used within the last hour`() throws {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        let status = try #require(scene.status())
        #expect(status.inFavour.contains("The app was neither fetched for nor used within the last hour."))
    }

    @Test func `R1 R2: A device that never reports idleness does not count as always in use`() {
        var scene = Scene()
        scene.install(Scene.manifest(interval: .minimum))
        scene.step { $0.apply(DeviceState(), now: $1) }
        scene.pass(to: 24 * 4)
        #expect(!scene.book.tellsUse && !scene.book.planner.rhythm.hasSeenDays)
        #expect(scene.begun.contains { $0.hour > 72 })
        // Without idle reports, the use of an app shows that the device is in use.
        scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
        #expect(scene.book.planner.rhythm.isInUse)
        scene.step { $0.use(Scene.app, isInFront: false, now: $1) }
        #expect(!scene.book.planner.rhythm.isInUse)
        // After the first idle report, only the device's reports show whether it is in use.
        scene.step { $0.apply(Scene.idle(), now: $1) }
        scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
        #expect(scene.book.tellsUse && !scene.book.planner.rhythm.isInUse)
        scene.step { $0.apply(DeviceState(), now: $1) }
        #expect(scene.book.planner.rhythm.isInUse)
    }
}

extension LocalMoment {
    var date: Date { Date(timeIntervalSince1970: seconds) }
}
