import Foundation
import NightshiftAPI

@testable import CLI

/// Background refresh with fixed times, like ``Samples``.
enum RefreshSamples {
    static let id = AppID(rawValue: "org.example.Feeds")

    static func fetch(
        _ secondsAgo: Double, took seconds: Double? = 4, _ result: RefreshResult? = .newData, bytes: Int64 = 0
    ) -> FetchRecord {
        var fetch = FetchRecord(began: Samples.ago(secondsAgo))
        fetch.ended = seconds.map { fetch.began.addingTimeInterval($0) }
        fetch.result = result
        fetch.bytes = bytes
        return fetch
    }

    /// An app that is opened every morning. The time for a fetch has not come yet.
    static var feeds: AppRefreshStatus {
        var app = AppRefreshStatus(app: id, name: "Feeds", availability: .available, interval: .minimum)
        app.intervalSource = .entry
        app.dailyCap = 24
        app.hold = "later"
        app.sentence = "A later time is better: just before you are likely to open the app."
        app.expected = Samples.now.addingTimeInterval(1_500)
        app.windowOpens = Samples.now.addingTimeInterval(900)
        app.windowCloses = Samples.now.addingTimeInterval(2_400)
        app.inFavour = ["It is opened at this time on most days.", "Its last fetches brought new data."]
        app.against = [app.sentence, "The device is on \u{1b}battery."]
        var overdue = fetch(7_200, took: 30, .failed)
        overdue.detail = "It took longer than 30 s and was ended."
        app.fetches = [overdue, fetch(3_600, .noData), fetch(1_084, bytes: 12_345)]
        app.openings = (0..<48).map { $0 == 13 ? 0.9 : $0 == 24 ? 0.4 : 0.02 }
        app.lastUse = Samples.ago(17_000)
        return app
    }

    /// An app with scheduled tasks, one of which is running.
    static var photos: AppRefreshStatus {
        var app = AppRefreshStatus(app: AppSamples.id, name: "Photos", availability: .available, interval: .never)
        app.hold = "never"
        app.sentence = "The app has not requested background fetches."
        var processing = ScheduledTask(identifier: "photos.faces", kind: .processing)
        processing.requiresPower = true
        var waiting = ScheduledTaskStatus(task: processing, submitted: Samples.ago(600))
        waiting.sentence = "The device is on battery."
        waiting.until = Samples.now.addingTimeInterval(3_600)
        var export = ScheduledTask(identifier: "photos.export", kind: .continued)
        export.title = "Export \u{202e}film"
        var running = ScheduledTaskStatus(task: export, submitted: Samples.ago(60))
        running.began = Samples.ago(58)
        running.progress = ScheduledTaskProgress(subtitle: "3 of 12 scenes", completedUnits: 3, totalUnits: 12)
        app.scheduled = [waiting, running]
        return app
    }

    static var off: AppRefreshStatus {
        var app = AppRefreshStatus(
            app: AppID(rawValue: "org.example.News"), name: "", availability: .denied, interval: .seconds(900))
        app.isOn = false
        app.hold = "appSwitchedOff"
        app.sentence = "You have switched background refresh off for this app."
        app.fetches = [fetch(90, took: nil, nil)]
        return app
    }

    /// An app that requests fetches without declaring them.
    static var undeclared: AppRefreshStatus {
        var app = AppRefreshStatus(
            app: AppID(rawValue: "org.example.Mail"), name: "Mail", availability: .restricted, interval: .minimum)
        app.sentence = "Its entry lacks fetch in X-Nightshift-BackgroundModes."
        app.hold = "undeclared"
        return app
    }

    static var device: RefreshStatus {
        var status = RefreshStatus(
            isOn: true,
            budget: RefreshBudgetStatus(
                dailyEnergy: 800, dailyBytes: 52_428_800, energyLeft: 611.6, bytesLeft: 40_000_000),
            apps: [feeds, photos, off, undeclared])
        status.nextLook = Samples.now.addingTimeInterval(600)
        return status
    }
}
