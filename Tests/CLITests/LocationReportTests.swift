import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct LocationReportTests {
    private let report = AppLocationReport(times: Samples.times, style: Style(isEnabled: false))

    private func table(columns: Int = .max) -> LocationReport {
        LocationReport(columns: columns, style: Style(isEnabled: false), times: Samples.times)
    }

    @Test func `R7: An app's regions are told, with its user's word and what they cost`() throws {
        try Fixture.check(
            "app-location",
            [
                report.lines(LocationSamples.arrivals), report.lines(LocationSamples.news),
                report.lines(added: "home", LocationSamples.arrivals), report.lines(added: "x", LocationSamples.news),
            ].map { $0.joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test func `R6: location has the sources and a line for each app, region list one for each region`() throws {
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
        let expected = "to 10 m, since \(Samples.times.both(Samples.ago(90)))"
        #expect(
            table().lines(device).contains { $0.contains("org.example.Maps asks where the device is, \(expected)") })
        #expect(report.section(maps).contains { $0.contains("asks") && $0.contains(expected) })
        maps.updates?.isOn = false
        #expect(!table().lines(LocationStatus(sources: [], apps: [maps])).contains { $0.contains("on now") })
    }

    @Test(arguments: [60, 80, 200]) func `R6: The tables fit their columns`(columns: Int) {
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

    @Test func `R8: Nothing that an app says reaches the terminal as a command`() {
        let lines =
            report.lines(LocationSamples.arrivals) + report.section(LocationSamples.news)
            + table().lines(LocationSamples.device) + table().lines(regionsOf: [LocationSamples.arrivals])
        #expect(lines.allSatisfy { text in text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E } })
    }

    @Test func `R6: An app that has nothing to do with location is not told of it`() {
        var app = AppLocationStatus(app: AppSamples.id, name: "", permission: .ask)
        #expect(report.section(app).isEmpty && report.lines(app).count > 2)
        app.permission = .denied
        #expect(report.section(app).first == "Location:")
    }

    @Test(arguments: [
        (0, "0 m"), (12.5, "12.5 m"), (150, "150 m"), (1_000, "1 km"), (1_500, "1.5 km"), (10_000_000, "10000 km"),
    ]) func `R6: Distances are in metres or kilometres`(metres: Double, text: String) {
        #expect(LocationText.distance(metres) == text)
    }

    @Test func `R6: doctor says who watches what nobody can tell, or without its user's word`() {
        var status = LocationSamples.device
        #expect(DoctorChecks.finding(status).advice == "nightshift app location org.example.News --always, or --deny")
        status.apps[1].permission = .denied
        #expect(DoctorChecks.finding(status) == .ok("location", "from gpsd, for 1 app"))
        status.sources[0].isAvailable = false
        #expect(DoctorChecks.finding(status).result == .warn)
        #expect(DoctorChecks.finding(status).detail.hasPrefix("org.example.Arrivals watches"))
        status.sources[0].isSilent = true
        #expect(DoctorChecks.finding(status).advice == status.sources[0].sentence)
        status.apps = []
        #expect(DoctorChecks.finding(status).detail == "gpsd does not answer")
        status.sources[0].isSilent = nil
        #expect(DoctorChecks.finding(status) == .ok("location", "no source, for 0 apps"))
    }
}
