import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct RefreshReportTests {
    private let report = AppRefreshReport(times: Samples.times, style: Style(isEnabled: false))

    private func table(columns: Int = .max) -> RefreshReport {
        RefreshReport(columns: columns, style: Style(isEnabled: false), times: Samples.times)
    }

    @Test func `R1: app refresh prints past fetches, the next fetch, and the reasons for and against it`() throws {
        let apps = [RefreshSamples.feeds, RefreshSamples.photos, RefreshSamples.off, RefreshSamples.undeclared]
        try Fixture.check(
            "app-refresh", apps.map { report.lines($0).joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test func `R1: refresh prints the device's budget and a line for each app`() throws {
        var off = RefreshSamples.device
        off.isOn = false
        off.apps = []
        off.sentence = "You have switched background refresh off for all apps."
        try Fixture.check(
            "refresh",
            [RefreshSamples.device, off].map { table().lines($0).joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test(arguments: [60, 80, 200]) func `R1: The table of refresh fits into the width of the terminal`(columns: Int) {
        var status = RefreshSamples.device
        status.apps.append(
            AppRefreshStatus(
                app: AppID(rawValue: "org." + String(repeating: "long.", count: 30) + "App"), name: "",
                availability: .available, interval: .seconds(5_400)))
        let lines = table(columns: columns).lines(status)
        let apps = lines.drop { !$0.isEmpty }
        #expect(apps.count == 7 && apps.allSatisfy { TerminalText.width($0) <= columns })
    }

    @Test func `R1: app refresh does not show a running fetch as a refusal`() {
        var app = AppRefreshStatus(app: AppSamples.id, name: "", availability: .available, interval: .minimum)
        func verdict(_ hold: String?, _ sentence: String) -> Bool {
            (app.hold, app.sentence) = (hold, sentence)
            return report.lines(app).contains("  fetch now    " + (hold == "later" ? "no. " : "") + sentence)
        }
        #expect(verdict("underWay", "The app is fetching now."))
        #expect(verdict("later", "A later time is better."))
    }

    @Test func `R1: app refresh escapes control characters in texts of an app`() {
        let lines =
            report.lines(RefreshSamples.photos) + report.section(RefreshSamples.feeds)
            + table().lines(RefreshSamples.device)
        #expect(lines.allSatisfy { text in text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E } })
    }

    @Test func `R1: app show has no refresh section for an app without background refresh`() {
        var app = AppRefreshStatus(app: AppSamples.id, name: "", availability: .restricted, interval: .never)
        app.sentence = "The app has not requested background fetches."
        #expect(report.section(app).isEmpty && report.lines(app).count > 2)
        app.interval = .minimum
        #expect(report.section(app).first == "Background refresh:")
    }

    @Test(
        arguments: [
            ([], nil), ([0, 0], nil), ([1], nil), ([0, 0, 1, 1], "00 ▁█ 24"), ([1, 0, 0, 0.5], "00 █▅ 24"),
            ([.infinity, 1], nil), ([-1, 2, 2, 2], "00 ▃█ 24"),
        ] as [([Double], String?)])
    func `R1: app refresh prints a bar for the learned openings of each hour`(halfHours: [Double], text: String?) {
        #expect(RefreshText.openings(halfHours) == text)
    }

    @Test func `R10: app refresh prints the progress of a task if it is known`() {
        #expect(RefreshText.progress(ScheduledTaskProgress()) == nil)
        #expect(RefreshText.progress(ScheduledTaskProgress(completedUnits: 3)) == "3 done")
        #expect(RefreshText.progress(ScheduledTaskProgress(completedUnits: 3, totalUnits: 0)) == "3 done")
        #expect(
            RefreshText.progress(ScheduledTaskProgress(completedUnits: 3, totalUnits: 12)) == "3 of 12 (25 %)")
    }

    @Test func `R1: doctor reports incompletely declared background refresh`() {
        var app = AppSamples.active
        app.manifest?.modes = [.fetch]
        var status = RefreshSamples.device
        status.apps = []
        #expect(DoctorChecks.finding(status, [app]).detail.contains("no interval is set"))
        app.manifest?.fetchInterval = .minimum
        #expect(DoctorChecks.finding(status, [app]).result == .ok)
        app.manifest?.modes = [.transfer]
        #expect(DoctorChecks.finding(status, [app]).advice?.contains("X-Nightshift-BackgroundModes") == true)
        // An app with scheduled tasks gets no classic fetches and needs no interval.
        app.manifest?.taskIdentifiers = ["photos.faces"]
        #expect(DoctorChecks.finding(status, [app]).result == .ok)

        status.apps = [RefreshSamples.feeds]
        #expect(DoctorChecks.finding(status, [app]) == .ok("refresh", "on, for 1 app"))
        status.apps[0].fetches = (0..<3).map { RefreshSamples.fetch(Double($0), .failed) }
        #expect(DoctorChecks.finding(status, [app]).detail == "the last fetches of org.example.Feeds failed")
        status.isOn = false
        #expect(DoctorChecks.finding(status, [app]).advice == "Turn it on with: nightshift refresh --on")
    }

    @Test func `R1: doctor names every app without an interval, except those set to never`() {
        func app(_ name: String, interval: RefreshInterval? = nil) -> AppStatus {
            var app = AppSamples.active
            app.id = AppID(rawValue: name)
            app.manifest = AppManifest(id: app.id, name: name, entry: "/apps/\(name).desktop", command: ["/bin/true"])
            app.manifest?.modes = [.fetch]
            app.manifest?.fetchInterval = interval
            return app
        }
        var status = RefreshSamples.device
        status.apps = [RefreshSamples.feeds]
        status.apps[0].fetches = (0..<3).map { RefreshSamples.fetch(Double($0), .failed) }
        let finding = DoctorChecks.finding(status, [app("one"), app("two"), app("three"), app("four")])
        #expect(finding.detail.contains("no background fetches for one, two and 2 more,"))
        #expect(finding.detail.contains("the last fetches of org.example.Feeds failed"))
        #expect(finding.advice?.contains("/apps/one.desktop") == true)
        status.apps = []
        #expect(DoctorChecks.finding(status, [app("one", interval: .never)]).result == .ok)
        var known = AppRefreshStatus(app: AppID(rawValue: "one"), name: "", availability: .available, interval: .never)
        known.isIntervalSet = true
        status.apps = [known]
        #expect(DoctorChecks.finding(status, [app("one")]).result == .ok, "the app itself has said never")
        status.apps[0].isIntervalSet = false
        #expect(DoctorChecks.finding(status, [app("one")]).result == .warn)
    }

    @Test func `R1: refresh prints a negative budget`() {
        var status = RefreshSamples.device
        status.apps = []
        (status.budget.energyLeft, status.budget.bytesLeft) = (-18.4, -2_000_000)
        let lines = table().lines(status)
        #expect(lines.contains { $0.contains("18 J over budget,") })
        #expect(lines.contains { $0.contains("MiB over budget,") })
        status.budget.energyLeft = -0.2
        #expect(table().lines(status).contains { $0.contains(" 0 J left,") })
    }

    @Test func `R1: app refresh prints an unknown result for a fetch whose end was not reported`() {
        var fetch = RefreshSamples.fetch(0, .newData)
        fetch.result = nil
        fetch.ended = fetch.ended ?? Samples.now
        #expect(RefreshText.result(fetch) == "result unknown")
    }

    @Test func `The commands print times of the service in the local time zone`() {
        let times = TimeText(now: Samples.now, timeZone: TimeZone(secondsFromGMT: 7_200) ?? .gmt)
        #expect(
            times.localized("time, at 2026-11-21T23:30:05Z, or 2026-11-21T23:30:05.250Z.")
                == "time, at 2026-11-22 01:30:05, or 2026-11-22 01:30:05.")
        #expect(times.localized("2026-11-21 is a day.") == "2026-11-21 is a day.")
    }

    @Test func `R1: doctor accepts an interval that the user has set to never`() {
        var app = AppSamples.active
        app.manifest?.modes = [.fetch]
        var status = RefreshSamples.device
        status.apps = [RefreshSamples.photos]
        status.apps[0].scheduled = []
        #expect(DoctorChecks.finding(status, [app]).result == .warn)
        status.apps[0].intervalSource = .user
        #expect(DoctorChecks.finding(status, [app]).result == .ok)
    }
}
