import Foundation
import NightshiftAPI
import Refresh
import Scheduler
import Store
import TestSupport
import Testing

/// Tests of the rules of background refresh that hold after any inputs and any crash.
@Suite struct StateWalkTests {
    private struct Walk {
        static let apps = (0..<5).map { AppID(rawValue: "org.example.App\($0)") }
        var random: SplitMix64
        var scene = StateScene()
        var mistakes: [String] = []
        /// The user's settings, recorded independently of the state under test.
        var userIntervals: [AppID: RefreshInterval] = [:]
        var isOff: Set<AppID> = []
        var isQuit: Set<AppID> = []
        var inFront: Set<AppID> = []
        var ended: [AppID: Double] = [:]
        var isOn = true
        var ends = 0
        var asked = 0
        private var judged = 0

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            scene.result = nil
            for app in Self.apps { scene.install(Self.manifest(app)) }
        }

        /// Returns the desktop entry of an app. Two of the apps submit tasks.
        static func manifest(_ app: AppID) -> AppManifest {
            let submits = app == apps[0] || app == apps[1]
            return StateScene.manifest(app, interval: .minimum, tasks: submits ? ["a.*"] : [])
        }

        mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }

        mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

        mutating func step() throws {
            scene.pass(to: scene.hour + pick([0, 0.01, 0.1, 0.5, 1, 4]))
            judge()
            try happen(pick(Self.apps))
            judge()
        }

        private mutating func happen(_ app: AppID) throws {
            switch Int.random(in: 0..<15, using: &random) {
            case 0:
                let interval = pick([RefreshInterval.never, .minimum, .seconds(900), .seconds(20_000)])
                userIntervals[app] = interval
                try scene.step { try $0.change(app, AppRefreshChange(interval: "\(interval)"), now: $1) }
            case 1:
                let on = !chance(3)
                if on { isOff.remove(app) } else { isOff.insert(app) }
                try scene.step { try $0.change(app, AppRefreshChange(isOn: on), now: $1) }
            case 2:
                isOn = !chance(5)
                let isOn = isOn
                try scene.step { try $0.change(RefreshChange(isOn: isOn), now: $1) }
            case 3, 4:
                let goes = inFront.contains(app)
                if goes { inFront.remove(app) } else { inFront.insert(app) }
                if !goes { isQuit.remove(app) }
                scene.step { $0.use(app, isInFront: !goes, now: $1) }
            case 5:
                guard chance(3) else { return }
                inFront.remove(app)
                isQuit.insert(app)
                scene.step { $0.forceQuit(app, now: $1) }
            case 6:
                var moment = chance(2) ? StateScene.idle(power: chance(3) ? .battery : .external) : DeviceState()
                moment.phase = moment.conditions.isIdle && chance(3) ? .dozing : .awake
                moment.conditions.network.isAvailable = !chance(6)
                let told = moment
                scene.step { $0.apply(told, now: $1) }
            case 7, 8: submit(app)
            case 9: if let wake = scene.rows.wakes.last, chance(3) { scene.lose(wake) }
            case 10:
                guard (try? scene.step { try $0.fetchNow(app, now: $1) }) != nil else { return }
                asked += 1
                // Fetches that the user requested are not checked.
                judged = scene.begun.count
            case 11:
                let wakes = scene.rows.wakes
                if let wake = wakes.first, chance(2) { scene.endUnheard(wake, .newData) }
                // A wake whose row was lost ends here as well.
                let before = Self.apps.filter { scene.isUnderWay($0) }
                try scene.restart(manifests: Self.apps.map(Self.manifest))
                inFront = []
                for app in before where !scene.isUnderWay(app) { ended[app] = scene.seconds }
                scene.look()
            default: endSome()
            }
        }

        private mutating func submit(_ app: AppID) {
            let kind = pick(ScheduledTask.Kind.allCases)
            var task = StateScene.task(kind, "a.\(Int.random(in: 0..<14, using: &random))")
            if chance(2) { task.earliestBegin = Date(timeIntervalSince1970: scene.seconds + 3_600) }
            let isInFront = inFront.contains(app)
            _ = try? scene.step { [task] in try $0.submit(task, for: app, isInFront: isInFront, now: $1) }
        }

        private mutating func endSome() {
            for wake in scene.rows.wakes where !chance(3) {
                scene.end(wake, pick(RefreshResult.allCases), bytes: Int64.random(in: 0...400_000, using: &random))
                if wake.source == .fetch { ended[wake.app] = scene.seconds }
                judge()
            }
        }

        // MARK: - Checks

        private mutating func judge() {
            for (wake, _) in scene.begun[min(judged, scene.begun.count)...] where wake.source == .fetch {
                if let mistake = mistake(wake) { mistakes.append("\(wake.app) at \(scene.hour): \(mistake)") }
            }
            judged = scene.begun.count
            let wakes = scene.rows.wakes
            for app in Self.apps {
                for source in [WakeSource.fetch, .processing] {
                    let count = wakes.count { $0.app == app && $0.source == source }
                    if count > 1 { mistakes.append("\(app): twice at once for \(source)") }
                }
                let pending = scene.book.pending(of: app).map(\.task)
                for (kind, most) in [
                    (ScheduledTask.Kind.refresh, Limits.refreshTasks), (.processing, Limits.processingTasks),
                    (.continued, Limits.continuedTasks),
                ] where pending.count(where: { $0.kind == kind }) > most {
                    mistakes.append("\(app): too many wait")
                }
                if scene.fetchesOf(app).count(where: { $0.ended == nil }) > 1 { mistakes.append("two under way") }
            }
            if wakes.count(where: { $0.source == .processing }) > ProcessingPlanner.most {
                mistakes.append("too many run")
            }
            if wakes.count(where: { $0.source == .continued }) > Limits.runningContinuedTasks {
                mistakes.append("too many continued")
            }
            if scene.rows.tasks.keys != scene.book.tasks.keys { mistakes.append("rows are not what is known") }
            let balance = scene.book.planner.budget.balance
            // One fetch of each app, and each requested fetch, may have exceeded the reserved budget.
            let most = RefreshCost(wakesDevice: true, radioSeconds: 40, backgroundSeconds: 30, bytes: 400_000)
            let count = Double(Self.apps.count + asked)
            if balance.energy < -most.energy * count || balance.bytes < -most.bytes * count {
                mistakes.append("overdrawn")
            }
        }

        private func mistake(_ wake: RefreshWake) -> String? {
            let app = wake.app
            if !isOn || isOff.contains(app) { return "switched off" }
            if isQuit.contains(app) || inFront.contains(app) { return "forbidden" }
            let interval = userIntervals[app] ?? .minimum
            if interval == .never { return "not wanted" }
            if let last = ended[app], scene.seconds < last + interval.sleep { return "before its interval" }
            let submits = Self.manifest(app).taskIdentifiers.isEmpty == false
            if submits != (wake.task != nil) { return "of the other form" }
            if let begin = wake.task?.earliestBegin?.timeIntervalSince1970, scene.seconds < begin { return "early" }
            return scene.book.moment.conditions.network.isAvailable ? nil : "without a network"
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `R1 R2 R10: In random walks each state is legal, and each end counts once`(seed: UInt64) throws {
        var walk = Walk(seed: seed)
        for _ in 0..<120 { try walk.step() }
        #expect(walk.mistakes.prefix(5) == [], "seed \(seed)")
        #expect(!walk.scene.begun.isEmpty, "seed \(seed)")
        // Every wake that has begun ends exactly once.
        try walk.scene.step { try $0.change(RefreshChange(isOn: false), now: $1) }
        // When wakes end, others may begin.
        for _ in 0..<200 {
            guard let wake = walk.scene.rows.wakes.first else { break }
            walk.scene.end(wake, .noData)
        }
        try walk.scene.restart(manifests: Walk.apps.map(Walk.manifest))
        let scene = walk.scene
        #expect(scene.running.isEmpty)
        #expect(scene.entries(.fetchBegan).count == scene.entries(.fetchEnded).count, "seed \(seed)")
        #expect(scene.entries(.taskBegan).count == scene.entries(.taskEnded).count, "seed \(seed)")
        #expect(scene.entries(.fetchBegan).count + scene.entries(.taskBegan).count == scene.begun.count)
    }
}

extension StateScene {
    func fetchesOf(_ app: AppID) -> [FetchRecord] { book.apps[app]?.fetches ?? [] }

    func isUnderWay(_ app: AppID) -> Bool { book.apps[app]?.underWay != nil }
}
