import Foundation
import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// R2: Tests of the values from which the fetch planner decides.
@Suite struct RefreshValueTests {
    private static let nothing = [Double](repeating: 0, count: UsageModel.slotCount)

    private static let days: [(Double, Int, Int, Int)] = [
        (0, 0, 0, 3), (86_399, 0, 86_399, 3), (86_400, 1, 0, 4), (-1, -1, 86_399, 2), (345_600, 4, 0, 0),
    ]

    @Test(arguments: Self.days)
    func `The day and the second of the day follow local time`(seconds: Double, day: Int, second: Int, weekday: Int) {
        let utc = LocalMoment(seconds: seconds)
        #expect(utc.day == day && utc.secondOfDay == second && utc.weekday == weekday)
        let elsewhere = LocalMoment(seconds: seconds - 3_600, offset: 3_600)
        #expect(elsewhere.day == day && elsewhere.secondOfDay == second)
    }

    @Test func `Past use predicts use on the same kind of day, and older use has less weight`() {
        var model = UsageModel()
        for day in 0..<5 {
            model.begin(RefreshScene.moment(Double(day) * 24 + 7.25))
            model.end(RefreshScene.moment(Double(day) * 24 + 7.5))
        }
        model.advance(to: RefreshScene.moment(5 * 24))
        let workday = model.expectation(onDayOff: false, prior: Self.nothing, weight: 0.5)
        #expect(workday[14] > 0.3 && workday[13] > 0.1 && workday[15] > 0.1 && workday[20] == 0)
        model.advance(to: RefreshScene.moment(19 * 24))
        let later = model.expectation(onDayOff: false, prior: Self.nothing, weight: 0.5)
        #expect(later[14] < workday[14] / 3)
        #expect(model.lastUse(RefreshScene.start) == RefreshScene.start, "a clock that was set back")
    }

    @Test func `The stored size of an app is bounded`() throws {
        var scene = RefreshScene()
        scene.add(.feed)
        for step in 0..<60_000 {
            let moment = RefreshScene.moment(Double(step) / 200 + 0.123_456_7)
            scene.planner.appUse(.feed, isInFront: step.isMultiple(of: 2), now: moment)
        }
        let app = try #require(scene.planner.apps[.feed])
        #expect(try JSON.encode(app.usage).count <= UsageModel.largestEncoding)
        #expect(try JSON.encode(app).count <= RefreshApp.largestEncoding)
        #expect(try JSON.decode(RefreshApp.self, from: JSON.encode(app)) == app)
        #expect(throws: DecodingError.self) {
            try JSON.decode(UsageModel.self, from: Data(#"{"w":{"c":[],"d":0},"o":{},"r":{},"u":false}"#.utf8))
        }
    }

    @Test func `The budget grows evenly, lasts for a day, and first repays its debt`() {
        var budget = RefreshBudget(daily: RefreshCost(energy: 24, bytes: 2_400), now: 0)
        #expect(budget.balance.energy == 6)
        budget.fill(to: 3_600)
        #expect(budget.balance == RefreshCost(energy: 7, bytes: 700))
        budget.spend(RefreshCost(energy: 9, bytes: 100))
        #expect(budget.balance == RefreshCost(energy: -2, bytes: 600))
        budget.fill(to: 0)
        #expect(budget.balance.energy == -2)
        budget.fill(to: 10 * 86_400)
        #expect(budget.balance == RefreshCost(energy: 22, bytes: 2_400))
        budget.fill(to: 20 * 86_400)
        #expect(budget.balance == budget.daily)
        #expect(budget.share(of: RefreshCost(energy: 1, bytes: 1_200)) == 0.5)
        budget.change(daily: RefreshCost(energy: .nan, bytes: -3), now: 0)
        #expect(budget.balance == RefreshCost(energy: 0, bytes: 0))
        #expect(budget.share(of: .expected) == .infinity)
    }

    @Test func `The planner names each device condition that forbids every fetch`() {
        func hold(_ change: (inout RefreshConditions) -> Void) -> RefreshHold? {
            var conditions = RefreshConditions()
            change(&conditions)
            return conditions.hold
        }
        #expect(hold { _ in } == nil)
        #expect(hold { $0.isOn = false } == .allSwitchedOff)
        #expect(hold { $0.device.isSleeping = true } == .machineSleeps)
        #expect(hold { $0.device.isLowPower = true } == .lowPower)
        #expect(hold { $0.device.network.isAvailable = false } == .noNetwork)
        #expect(hold { $0.device.network.isConstrained = true } == .constrainedNetwork)
        #expect(hold { $0.device.batteryPercentage = 3 } == nil, "plugged in")
        for (level, expected) in [(19.9, RefreshHold.batteryLow), (20, nil)] {
            #expect(
                hold {
                    $0.device.power = .battery
                    $0.device.batteryPercentage = level
                } == expected)
        }
        #expect(
            hold {
                $0.device.power = .battery
                $0.device.batteryWarning = .critical
            } == .batteryLow)
    }

    @Test(arguments: RefreshHold.allCases)
    func `Each reason to wait has its own text, and the text addresses you`(reason: RefreshHold) {
        #expect(reason.sentence.hasSuffix(".") && reason.sentence.count > 15)
        #expect(!reason.sentence.lowercased().contains("user"), "A reason addresses the user as you.")
        #expect(RefreshHold.allCases.filter { $0.sentence == reason.sentence } == [reason])
    }

    @Test func `Each reason of the processing planner has a text that addresses you`() {
        let texts = ProcessingPlanner.Hold.allCases.map(\.sentence) + ProcessingPlanner.End.allCases.map(\.sentence)
        #expect(texts.filter { $0.lowercased().contains("user") }.isEmpty)
        #expect(texts.allSatisfy { $0.hasSuffix(".") })
    }
}
