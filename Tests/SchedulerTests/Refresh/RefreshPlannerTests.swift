import NightshiftAPI
import Scheduler
import Testing

/// R2: Tests of the choice of apps that fetch, and of the times of their fetches.
@Suite struct RefreshPlannerTests {
    @Test func `An app that does not request fetches gets no fetches`() {
        var scene = RefreshScene()
        scene.add(.feed, interval: .never)
        scene.pass(to: 48)
        #expect(scene.fetches.isEmpty)
        #expect(scene.plan.holds[.feed]?.reason == .never && scene.plan.lookAgain == nil)
    }

    @Test func `A new app gets some fetches on its first day, but none at night`() {
        var scene = RefreshScene()
        scene.add(.feed)
        scene.pass(to: 24)
        let hours = scene.hours(.feed)
        #expect((1...20).contains(hours.count))
        #expect(hours.allSatisfy { (6...23).contains($0) }, "\(hours)")
    }

    @Test func `Two fetches are at least one interval apart`() {
        var scene = RefreshScene()
        scene.add(.feed, interval: .seconds(4 * 3_600))
        scene.conditions.isAwake = true
        scene.pass(to: 72)
        let all = scene.fetches.map(\.hour)
        #expect(all.count >= 6)
        #expect(zip(all, all.dropFirst()).allSatisfy { $1 - $0 >= 4 })
    }

    @Test func `An app that is opened every morning gets a fetch shortly before`() throws {
        var scene = RefreshScene(fetchesADay: 3)
        scene.add(.feed)
        for day in 0..<14 { scene.use(.feed, at: Double(day) * 24 + 7.2) }
        scene.pass(to: 14 * 24 + 7.2)
        let last = try #require(scene.fetches.last)
        #expect(last.hour > 14 * 24 + 6.2 - 0.01)
        #expect(!scene.hours(.feed, from: 7 * 24).isEmpty)
    }

    @Test func `An app that is used hourly gets hourly fetches by day, and no fetches at night`() {
        var scene = RefreshScene()
        scene.add(.mail)
        for day in 0..<7 {
            for hour in 8..<22 {
                scene.use(.mail, at: Double(day) * 24 + Double(hour) + (day.isMultiple(of: 2) ? 0.1 : 0.9))
            }
        }
        let before = scene.fetches.count
        // The app is not used on this day.
        scene.pass(to: 8 * 24)
        // The fetches are an hour apart, from 06:30 to 23:00.
        #expect((8...17).contains(scene.fetches.count - before))
        #expect(scene.hours(.mail, from: 48).allSatisfy { (6.5...23).contains($0) })
    }

    @Test func `The use of the device predicts the use of an app whose opening times are unknown`() {
        var scene = RefreshScene(fetchesADay: 8)
        scene.add(.feed, .game)
        for day in 0..<3 {
            for hour in 8..<22 {
                // The user opens both apps in the morning and one of them often, and uses the device all day.
                let app: AppID = hour == 9 && day == 0 ? .game : (9..<13).contains(hour) ? .feed : .mail
                scene.use(app, at: Double(day) * 24 + Double(hour))
            }
        }
        scene.pass(to: 96)
        func afternoons(_ app: AppID) -> Int { scene.hours(app, from: 48).count { (14..<22).contains($0) } }
        #expect(afternoons(.feed) > afternoons(.game))
    }

    @Test func `An app unused for weeks gets almost no budget`() {
        var scene = RefreshScene()
        scene.add(.feed, .game)
        scene.use(.game, at: 12)
        for day in 0..<40 {
            for hour in [8, 12, 18] { scene.use(.feed, at: Double(day) * 24 + Double(hour) + 1) }
        }
        #expect(scene.hours(.game, from: 20 * 24).count <= 4)
        #expect(scene.hours(.feed, from: 20 * 24).count > 40)
        #expect(scene.planner.apps[.game]?.usage.isInUse == false)
    }

    @Test func `A rarely used app gets a minimum of fetches beside a busy app`() {
        var scene = RefreshScene(fetchesADay: 4)
        scene.add(.feed, .mail)
        scene.use(.feed, at: 9)
        for day in 0..<12 {
            for hour in 8..<22 {
                scene.use(.mail, at: Double(day) * 24 + Double(hour) + 0.5 + (hour.isMultiple(of: 2) ? 0.4 : 0))
            }
        }
        #expect(!scene.hours(.feed, from: 24).isEmpty)
    }

    @Test func `An app whose fetches bring no new data gets fewer fetches`() {
        func count(_ result: RefreshResult) -> Int {
            var scene = RefreshScene(fetchesADay: 6)
            scene.add(.feed, .mail)
            for day in 0..<10 {
                for hour in [8, 11, 14, 17, 20] {
                    scene.use(.mail, at: Double(day) * 24 + Double(hour))
                    scene.result = result
                    scene.use(.feed, at: Double(day) * 24 + Double(hour) + 1.5)
                }
            }
            return scene.planner.apps[.feed].map { Int(saturating: $0.yield * 100) } ?? 0
        }
        #expect(count(.newData) == 100)
        #expect(count(.noData) < 40)
    }

    @Test func `A user who begins to use the device triggers a fetch for the app opened next`() {
        var scene = RefreshScene(fetchesADay: 8)
        scene.add(.feed, .game)
        for day in 0..<10 {
            for hour in [9, 13, 18] { scene.use(.feed, at: Double(day) * 24 + Double(hour)) }
        }
        scene.conditions.isAwake = true
        var planner = scene.planner
        planner.set(daily: RefreshBudget.usual, now: RefreshScene.moment(10 * 24 + 13))
        planner.deviceUse(true, now: RefreshScene.moment(10 * 24 + 13))
        let plan = planner.plan(scene.conditions, now: RefreshScene.moment(10 * 24 + 13))
        let isFresh =
            scene.planner.apps[.feed]?.refreshed.map { $0 > RefreshScene.start + (10 * 24 + 12.0) * 3_600 } ?? false
        #expect(plan.wake.contains(.feed) || isFresh)
    }

    @Test func `Several apps share one wake of the device, and fetch together when the device wakes`() {
        var scene = RefreshScene()
        scene.add(.feed, .mail, .game)
        scene.pass(to: 24)
        let wakes = Set(scene.fetches.map(\.hour)).count
        #expect(scene.fetches.count >= 6)
        #expect(wakes * 2 <= scene.fetches.count)
        // A fetch that waits for a shared wake begins when the device wakes.
        var waiting = RefreshScene()
        waiting.add(.feed)
        waiting.pass(to: 12)
        while waiting.plan.holds[.feed]?.reason != .sharedWake, waiting.hour < 20 {
            waiting.pass(to: waiting.hour + 1 / 12)
        }
        #expect(waiting.plan.holds[.feed]?.reason == .sharedWake)
        let before = waiting.fetches.count
        waiting.conditions.isAwake = true
        waiting.look()
        #expect(waiting.fetches.count == before + 1)
    }

    @Test func `A sleeping device is woken only if an app has a fetch`() {
        var scene = RefreshScene()
        scene.add(.feed, .mail, .game)
        for day in 0..<3 {
            for (app, hour) in [(AppID.feed, 7.5), (.mail, 12), (.feed, 18), (.game, 21)] {
                scene.use(app, at: Double(day) * 24 + hour)
            }
        }
        let (looks, empty) = (scene.looks, scene.emptyLooks)
        scene.pass(to: 96)
        #expect(scene.looks > looks + 3)
        // Only the first plan may wake no app.
        #expect(scene.emptyLooks - empty <= 1)
        #expect(scene.plan.wakeDevice.map { $0 > scene.now.seconds } ?? false)
    }

    @Test func `The planner plans a wake of the device in advance unless the device is in use`() throws {
        var scene = RefreshScene()
        scene.add(.feed, .mail)
        scene.pass(to: 9)
        var asleep = scene.planner
        let plan = asleep.plan(scene.conditions, now: scene.now)
        let time = try #require(plan.wakeDevice)
        let look = try #require(plan.lookAgain)
        #expect(time >= look)
        let woken = asleep.plan(scene.conditions, now: LocalMoment(seconds: time)).wake
        #expect(!woken.isEmpty)
        var used = scene.planner
        used.deviceUse(true, now: scene.now)
        let inUse = used.plan(scene.conditions, now: scene.now)
        #expect(inUse.wakeDevice == nil)
    }

    @Test func `The planner keeps within the user's daily limit`() {
        var scene = RefreshScene()
        scene.add(.feed)
        scene.planner.set(isOn: true, dailyCap: 2, for: .feed)
        scene.pass(to: 72)
        for day in 0..<3 {
            let hours = scene.fetches.filter { (Double(day) * 24..<Double(day + 1) * 24).contains($0.hour) }
            #expect(hours.count == 2)
        }
        scene.pass(to: 72 + 22)
        #expect(scene.plan.holds[.feed]?.reason == .cap)
    }

    @Test func `Each failure is followed by a longer pause`() {
        var scene = RefreshScene()
        scene.add(.feed)
        scene.result = .failed
        scene.conditions.isAwake = true
        scene.pass(to: 40)
        let all = scene.fetches.map(\.hour)
        #expect((3...12).contains(all.count), "\(all)")
        #expect(scene.planner.apps[.feed]?.failures == all.count)
    }

    @Test(arguments: [RefreshInterval.minimum, .seconds(4 * 3_600)], [RefreshResult.newData, .failed])
    func `An app gets another fetch within a day after the clock was set back`(
        interval: RefreshInterval, result: RefreshResult
    ) throws {
        var scene = RefreshScene()
        scene.add(.feed, interval: interval)
        scene.conditions.isAwake = true
        for day in 0..<20 { scene.use(.feed, at: Double(day) * 24 + 12) }
        scene.result = result
        scene.pass(to: 20 * 24 + 12)
        #expect(scene.fetches.contains { $0.hour > 20 * 24 })
        scene.setBack(to: 10 * 24 + 12)
        let before = scene.fetches.count
        scene.pass(to: 11 * 24 + 12)
        #expect(scene.fetches.count > before, "\(scene.plan.holds)")
    }

    @Test func `An idle device counts as idle at night after the clock was set back`() {
        var scene = RefreshScene()
        scene.add(.feed)
        for day in 0..<20 { scene.use(.feed, at: Double(day) * 24 + 12) }
        scene.setBack(to: 10 * 24 + 3)
        scene.look()
        #expect(scene.plan.holds[.feed]?.reason == .userSleeps)
    }

    @Test func `A force-quit app gets no fetches until the user starts it`() {
        var scene = RefreshScene()
        scene.add(.feed)
        scene.pass(to: 24)
        scene.planner.forceQuit(.feed, now: scene.now)
        let before = scene.fetches.count
        scene.pass(to: 72)
        #expect(scene.fetches.count == before && scene.plan.holds[.feed]?.reason == .forceQuit)
        scene.use(.feed, at: 80)
        scene.pass(to: 100)
        #expect(scene.fetches.count > before)
    }

    @Test func `A fetch whose end was not observed has no result and is not a failure`() {
        var scene = RefreshScene()
        scene.add(.feed)
        scene.conditions.isAwake = true
        var plan = RefreshPlan()
        for minute in 0..<600 where plan.wake.isEmpty {
            plan = scene.planner.plan(scene.conditions, now: RefreshScene.moment(8 + Double(minute) / 60))
        }
        #expect(plan.wake == [.feed])
        scene.planner.restarted(now: RefreshScene.moment(19))
        let app = scene.planner.apps[.feed]
        #expect(app?.fetchBegan == nil && app?.fetchEnded != nil && app?.lastResult == nil && app?.failures == 0)
    }

    @Test func `The planner can forget learned data and then keeps the settings`() {
        var scene = RefreshScene()
        scene.add(.feed, interval: .seconds(900))
        scene.planner.set(isOn: true, dailyCap: 3, for: .feed)
        scene.use(.feed, at: 9)
        scene.planner.forget(now: scene.now)
        let app = scene.planner.apps[.feed]
        #expect(app?.usage.lastBegin == nil && app?.interval == .seconds(900) && app?.dailyCap == 3)
        #expect(scene.planner.rhythm == UsageModel())
    }
}
