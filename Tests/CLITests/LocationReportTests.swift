import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct LocationReportTests {
    private let report = AppLocationReport(times: Samples.times, style: Style(isEnabled: false))

    private func table(columns: Int = .max) -> LocationReport {
        LocationReport(columns: columns, style: Style(isEnabled: false), times: Samples.times)
    }

    @Test func `R7: app location prints permission, regions, wakes and receiver time`() throws {
        try Fixture.check(
            "app-location",
            [
                report.lines(LocationSamples.arrivals), report.lines(LocationSamples.news),
                report.lines(added: "home", LocationSamples.arrivals), report.lines(added: "x", LocationSamples.news),
            ].map { $0.joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test func `R6: location prints sources and apps, and region list prints regions`() throws {
        let off = LocationStatus(sources: [], apps: [])
        try Fixture.check(
            "location",
            [
                table().lines(LocationSamples.device), table().lines(off),
                table().lines(regionsOf: LocationSamples.device.apps),
            ].map { $0.joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test func `R6: location and why name the app that keeps the receiver on, and since when`() {
        var maps = LocationSamples.maps
        let device = LocationStatus(sources: [], apps: [maps, LocationSamples.arrivals])
        let expected = "accurate to 10 m, since \(Samples.times.both(Samples.ago(90)))"
        #expect(table().lines(device).contains { $0.contains("org.example.Maps requests updates, \(expected)") })
        #expect(report.section(maps).contains { $0.contains("updates") && $0.contains(expected) })
        maps.updates?.isOn = false
        #expect(!table().lines(LocationStatus(sources: [], apps: [maps])).contains { $0.contains("on now") })
    }

    @Test(arguments: [60, 80, 200]) func `R6: The tables of locations fit into the width of the terminal`(columns: Int)
    {
        var status = LocationSamples.device
        status.apps.append(
            AppLocationStatus(
                app: AppID(rawValue: "org." + String(repeating: "long.", count: 30) + "App"), name: "",
                permission: .whenInUse))
        let apps = table(columns: columns).lines(status).drop { !$0.isEmpty }
        let regions = table(columns: columns).lines(regionsOf: status.apps)
        #expect(apps.count == 5 && regions.count == 3)
        #expect((apps + regions).allSatisfy { TerminalText.width($0) <= columns })
    }

    @Test func `R8: app location escapes control characters in texts of an app`() {
        let lines =
            report.lines(LocationSamples.arrivals) + report.section(LocationSamples.news)
            + table().lines(LocationSamples.device) + table().lines(regionsOf: [LocationSamples.arrivals])
        #expect(lines.allSatisfy { text in text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E } })
    }

    @Test func `R6: app show has no location section for an app that does not use locations`() {
        var app = AppLocationStatus(app: AppSamples.id, name: "", permission: .ask)
        #expect(report.section(app).isEmpty && report.lines(app).count > 2)
        app.permission = .denied
        #expect(report.section(app).first == "Location:")
    }

    @Test(arguments: [
        (0, "0 m"), (12.5, "12.5 m"), (150, "150 m"), (1_000, "1 km"), (1_500, "1.5 km"), (10_000_000, "10000 km"),
    ]) func `R6: The commands print distances in metres or kilometres`(metres: Double, text: String) {
        #expect(LocationText.distance(metres) == text)
    }

    @Test func `R6: doctor reports apps without a location source or without permission`() {
        var status = LocationSamples.device
        #expect(
            DoctorChecks.finding(status).advice
                == "Run: nightshift app location org.example.News --always, or with --deny")
        status.apps[1].permission = .denied
        #expect(DoctorChecks.finding(status) == .ok("location", "from gpsd, for 1 app"))
        status.sources[0].isAvailable = false
        #expect(DoctorChecks.finding(status).result == .warn)
        #expect(DoctorChecks.finding(status).detail.hasPrefix("org.example.Arrivals monitors the location"))
        status.sources[0].isSilent = true
        #expect(DoctorChecks.finding(status).advice == status.sources[0].sentence)
        status.apps = []
        #expect(DoctorChecks.finding(status).detail == "gpsd does not respond")
        status.sources[0].isSilent = nil
        #expect(DoctorChecks.finding(status) == .ok("location", "no source, for 0 apps"))
    }
}
