import Device
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the location that ``DeviceKey/location`` sets in an override or a trace.
@Suite(.timeLimit(.minutes(20))) struct LocationOverrideTests {
    @Test(arguments: [
        ("52.5,13.4,20", 52.5, 13.4, 20), ("52.5,13.4", 52.5, 13.4, LocationOverride.usualAccuracy),
        ("-90,180,0", -90, 180, 0),
        ("1e1,-1.5e2,1e3", 10, -150, 1_000),
    ])
    func `R6: The parser accepts a location of two or three numbers`(
        _ text: String, _ latitude: Double, _ longitude: Double, _ accuracy: Double
    ) throws {
        let place = try #require(LocationOverride(text))
        #expect(place.place == Coordinate(latitude: latitude, longitude: longitude) && place.accuracy == accuracy)
        var conditions = DeviceConditions()
        #expect(conditions.set(.location, to: text) && conditions == DeviceConditions(), "conditions have no place")
        #expect(conditions[.location] == "none")
    }

    @Test(arguments: [
        "", "set", "52.5", "52.5,", "52.5,13.4,", "52.5,13.4,20,1", "90.1,0", "0,180.1", "nan,0", "0,inf", "0,0,-1",
        "0,0,nan", "0,0,20000001", "52,5 13,4", "0, 0", String(repeating: "1", count: 200) + ",0",
    ])
    func `R6: The parser refuses any other text as a location`(_ text: String) {
        var conditions = DeviceConditions()
        #expect(LocationOverride(text) == nil && !conditions.set(.location, to: text))
    }

    @Test func `R6: A location override is the only source, and a changed override is reported as a fix at once`()
        async throws
    {
        let receiver = try FakeReceiver(walk: [(latitude: 1, longitude: 1)])
        try await receiver.start()
        let watched = try WatchedSources(gpsd: receiver.port)
        try await watched.waitForSources("the receiver") { $0["gpsd"]?.isAvailable == true }
        // Removing the override ends the request in progress.
        watched.sources.want(FixDemand(fix: 1))
        watched.monitor.setOverrides([.location: "52.5,13.4,20"])
        try await watched.waitForEnd(of: 1)
        #expect(watched.fixes.allSatisfy { $0.source == "override" })
        let places = try [(52.5, 13.4), (52.6, 13.4)].map {
            try #require(Coordinate(latitude: $0.0, longitude: $0.1))
        }
        #expect(watched.fixes.first?.fix.place == places[0] && watched.fixes.first?.fix.accuracy == 20)
        #expect(watched.last?.statuses.map(\.name) == ["override"])
        #expect(watched.last?.regions == true && watched.last?.changes == true)
        watched.sources.want(FixDemand(fix: 1))
        try await watched.waitForEnd(of: 2)
        #expect(watched.receiver.last == 0)
        watched.monitor.setOverrides([.location: "52.6,13.4"])
        try await watched.wait(for: "the other place") { $0.compactMap(\.fix).last?.fix.place == places[1] }
        watched.monitor.setOverrides([.location: "none"])
        try await watched.wait(for: "nobody to tell") { $0.compactMap(\.sources).last?.regions == false }
        watched.monitor.setOverrides([:])
        try await watched.waitForSources("the receiver") { $0["gpsd"]?.isAvailable == true }
    }

    @Test func `R6: The report shows that a location override is set, but not its coordinates`() throws {
        let watched = try WatchedSources()
        #expect(watched.monitor.report.values.map(\.key) == DeviceKey.conditions)
        watched.monitor.setOverrides([.location: "52.5163,13.3777,20"])
        #expect(watched.monitor.report.values.last == DeviceValue(key: .location, value: "set", source: .override))
        var settings = DeviceSettings()
        settings.overrides = [.location: "52.5163,13.3777,20", .idle: "yes"]
        #expect(settings.shown.overrides == [.location: "set", .idle: "yes"])
        let report = watched.monitor.report
        let texts = report.values.map(\.value) + report.providers.compactMap(\.detail) + ["\(report.conditions)"]
        #expect(!texts.contains { $0.contains("52.5") || $0.contains("13.37") })
    }

    @Test func `R6: A trace's locations are reported at their times`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(
            """
            {"at": 0, "device": {"location": "52.5,13.4,20"}}
            {"at": 1, "device": {"idle": "yes"}}
            {"at": 2, "device": {"location": "52.6,13.4"}}
            {"at": 4, "device": {"location": "none"}}
            """, to: "trace.jsonl")
        let watched = try WatchedSources(trace: path)
        try await watched.wait(for: "both places, and the end of them") {
            $0.compactMap(\.fix).count == 2 && $0.compactMap(\.sources).last?.regions == false
        }
        #expect(watched.fixes.map(\.fix.place.latitude) == [52.5, 52.6])
        #expect(watched.fixes.map(\.fix.accuracy) == [20, LocationOverride.usualAccuracy])
        #expect(watched.fixes.allSatisfy { $0.source == "override" })
    }

    @Test func `R6: The error about a mistyped location in a trace does not repeat the location`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(#"{"at": 0, "device": {"location": "52.5163;13.3777"}}"#, to: "trace.jsonl")
        let error = #expect(throws: UnreadableTrace.self) {
            _ = try DeviceMonitor(.trace(path: path), freeSpaceOf: "/", overrides: [:])
        }
        let text = error?.description ?? ""
        #expect(text.contains("line 1: location must be latitude,longitude") && !text.contains("13.3777"), "\(text)")
    }
}
