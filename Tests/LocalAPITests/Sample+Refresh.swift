import Foundation
import NightshiftAPI

/// Samples of background refresh.
extension Sample {
    static var refreshRequests: [Sample] {
        get throws {
            [
                try Sample(
                    RefreshChange(isOn: true, dailyEnergy: 1, dailyBytes: 2), least: RefreshChange(), isRequest: true),
                try Sample(
                    AppRefreshChange(isOn: false, interval: "900", dailyCap: 3), least: AppRefreshChange(),
                    isRequest: true),
                try Sample(ExpirationRequest(identifier: "i"), least: ExpirationRequest(), isRequest: true),
                try Sample(
                    RefreshRequest(interval: .seconds(900)), least: RefreshRequest(interval: .never), isRequest: true),
                try Sample(task, least: ScheduledTask(identifier: "i", kind: .refresh), isRequest: true),
                try Sample(progress, least: ScheduledTaskProgress(), isRequest: true),
            ]
        }
    }

    static var refreshAnswers: [Sample] {
        get throws {
            let budget = RefreshBudgetStatus(dailyEnergy: 1, dailyBytes: 2, energyLeft: 3, bytesLeft: 4)
            let leastApp = AppRefreshStatus(
                app: AppID(rawValue: "a"), name: "n", availability: .restricted, interval: .never)
            var status = RefreshStatus(isOn: true, budget: budget, apps: [app])
            status.sentence = "s"
            status.nextLook = date
            return [
                try Sample(status, least: RefreshStatus(isOn: false, budget: budget, apps: [])),
                try Sample(budget, least: budget), try Sample(app, least: leastApp),
                try Sample(app.fetches[0], least: FetchRecord(began: date)),
                try Sample(
                    app.scheduled[0],
                    least: ScheduledTaskStatus(
                        task: ScheduledTask(identifier: "i", kind: .processing), submitted: date)),
                try Sample(ScheduledTaskList(tasks: [task]), least: ScheduledTaskList(tasks: [])),
                try Sample(
                    RefreshNotice(availability: .available), least: RefreshNotice(availability: .denied)),
            ]
        }
    }

    private static let progress = ScheduledTaskProgress(
        title: "t", subtitle: "s", completedUnits: 1, totalUnits: 2)

    private static var task: ScheduledTask {
        var task = ScheduledTask(identifier: "i", kind: .continued)
        task.earliestBegin = date
        task.requiresNetwork = true
        task.requiresPower = true
        task.title = "t"
        task.subtitle = "s"
        task.strategy = .fail
        return task
    }

    private static var app: AppRefreshStatus {
        var app = AppRefreshStatus(
            app: AppID(rawValue: "org.example.Feeds"), name: "Feeds", availability: .available, interval: .minimum)
        app.intervalSource = .entry
        app.isIntervalSet = true
        app.dailyCap = 4
        app.hold = "later"
        app.sentence = "s"
        app.expected = date
        app.windowOpens = date
        app.windowCloses = date
        app.inFavour = ["f"]
        app.against = ["a"]
        var fetch = FetchRecord(began: date)
        fetch.ended = date
        fetch.result = .newData
        fetch.bytes = 5
        fetch.identifier = "i"
        fetch.detail = "d"
        app.fetches = [fetch]
        var scheduled = ScheduledTaskStatus(task: task, submitted: date)
        scheduled.began = date
        scheduled.sentence = "s"
        scheduled.until = date
        scheduled.progress = progress
        app.scheduled = [scheduled]
        app.openings = [0, 1.5]
        app.lastUse = date
        return app
    }
}
