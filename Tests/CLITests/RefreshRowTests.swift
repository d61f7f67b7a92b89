import Foundation
import NightshiftAPI
import Testing

@testable import CLI

/// Fetches and uses of apps in a timeline, and the freshness at each opening.
struct RefreshRowTests {
    private let app = "org.example.Feeds"

    private func hours(_ hours: Double) -> Double { hours * 3_600 }

    private func fetch(_ at: Double, _ result: String?, seconds: Double = 8) -> [JournalEntry] {
        [
            TimelineSamples.entry(hours(at), .fetchBegan, app: app),
            TimelineSamples.entry(
                hours(at) + seconds, .fetchEnded, app: app, inputs: result.map { ["result": $0] }),
        ]
    }

    private func use(_ at: Double, seconds: Double = 60) -> [JournalEntry] {
        [
            TimelineSamples.entry(hours(at), .useBegan, app: app),
            TimelineSamples.entry(hours(at) + seconds, .useEnded, app: app),
        ]
    }

    private func timeline(_ entries: [JournalEntry], hours: Double = 24) -> Timeline {
        TimelineReader.timeline(
            entries.sorted { $0.time < $1.time },
            span: DateInterval(start: TimelineSamples.start, duration: self.hours(hours)))
    }

    private func row(_ entries: [JournalEntry]) throws -> RefreshRow {
        try #require(timeline(entries).apps.first).refresh
    }

    @Test func `R1: An opening within an hour after a fetch or a use is fresh`() throws {
        let row = try row(
            fetch(5, "newData") + use(5.9) + use(6.8) + use(9) + fetch(10, "noData") + use(10.5) + fetch(12, "failed")
                + use(12.5) + use(15))
        #expect(row.uses.map(\.value) == [.fresh, .fresh, .stale, .fresh, .stale, .stale])
        #expect(row.fetches.map(\.value) == [.newData, .noData, .failed])
        #expect(row.sentence == "3 fetches: 1 new data, 1 nothing new, 1 failed; 3 of 6 openings with fresh content")
    }

    @Test func `R1: An opening in the first hour has unknown freshness`() throws {
        #expect(try row(use(0.5) + use(3) + fetch(9, "noData")).uses.map(\.value) == [.unknown, .stale])
        #expect(try row(fetch(0.2, "newData") + use(0.5)).uses.map(\.value) == [.fresh])
    }

    @Test func `R1: An app without background refresh has no freshness`() throws {
        let row = try row(use(3) + use(3.5) + use(9))
        #expect(row.uses.map(\.value) == [.unknown, .unknown, .unknown])
        #expect(row.fresh.isEmpty && row.sentence == nil)
    }

    @Test func `R1: Bands of freshness do not overlap`() throws {
        let row = try row(
            fetch(5, "newData") + fetch(5.5, "noData") + use(6) + fetch(9, "failed") + fetch(23.5, "newData"))
        let start = TimelineSamples.start
        #expect(
            row.fresh.map { [$0.start.timeIntervalSince(start), $0.end.timeIntervalSince(start)] }
                == [[hours(5) + 8, hours(7) + 60], [hours(23.5) + 8, hours(24)]])
    }

    @Test func `R1: The timeline draws uses and fetches up to its edges if they extend beyond them`() throws {
        let row = try row([
            TimelineSamples.entry(60, .useEnded, app: app),
            TimelineSamples.entry(hours(20), .useBegan, app: app),
            TimelineSamples.entry(hours(23), .fetchBegan, app: app),
        ])
        let start = TimelineSamples.start
        #expect(row.uses.map(\.from) == [start, start.addingTimeInterval(hours(20))])
        #expect(row.uses.map(\.to) == [start.addingTimeInterval(60), start.addingTimeInterval(hours(24))])
        #expect(row.fetches.map(\.value) == [nil] && row.fetches[0].to == start.addingTimeInterval(hours(24)))
    }

    @Test func `R1: The timeline draws fetches and uses, and names them in its legend and description`() {
        let timeline = timeline(
            fetch(5, "newData") + use(5.5) + fetch(8, "noData") + fetch(12, "failed") + use(15) + use(0.5))
        let svg = TimelineDrawing.svg(timeline, title: "Day", timeZone: .gmt)
        func count(_ text: String) -> Int { svg.components(separatedBy: text).count - 1 }
        // Each style occurs once in the legend and once in its row.
        for style in ["fetch newData", "fetch noData", "fetch failed", "use-fresh", "use-stale", "use-unknown"] {
            #expect(count("class=\"\(style)\"") == 2, "\(style)")
        }
        #expect(svg.contains("<title>fetch: nothing new\n"))
        #expect(svg.contains("<title>opened, content not fresh\n"))
        #expect(svg.contains(">content fresh<"))
        let sentence = "3 fetches: 1 new data, 1 nothing new, 1 failed; 1 of 2 openings with fresh content"
        #expect(svg.contains("org.example.Feeds: \(sentence)</desc>"))
        let report = TimelineReport(timeline, file: "day.svg")
        #expect(report.line == "day.svg: 1 app, 0 transfers, 1 d; 3 fetches, 1 of 2 openings with fresh content")
    }

    @Test func `R1: A legend of many lines fits into the picture`() throws {
        let entries =
            TimelineSamples.entries + fetch(0.1, "newData") + fetch(0.2, "noData") + fetch(0.3, "failed") + use(0.4)
            + use(0.02)
        let svg = TimelineDrawing.svg(timeline(entries, hours: 1), title: "", timeZone: .gmt)
        let height = try #require(svg.firstMatch(of: /viewBox="0 0 1280 ([0-9.]+)"/).flatMap { Double($0.1) })
        let legend = svg.matches(of: /class="legend" x="[0-9.]+" y="([0-9.]+)"/).compactMap { Double($0.1) }
        #expect(Set(legend).count > 2)
        #expect(legend.allSatisfy { $0 < height - 4 })
    }

    @Test func `R10: The timeline draws a refresh task as a fetch, and other tasks as tasks`() throws {
        let processing = ["kind": "processing"]
        let row = try #require(
            timeline([
                TimelineSamples.entry(60, .taskBegan, app: app, detail: "feeds.clean", inputs: processing),
                TimelineSamples.entry(70, .taskBegan, app: app, detail: "feeds.refresh", inputs: ["kind": "refresh"]),
                TimelineSamples.entry(
                    75, .taskEnded, app: app, detail: "feeds.refresh", inputs: ["kind": "refresh", "result": "noData"]),
                TimelineSamples.entry(85, .wakeExpiring, app: app),
                TimelineSamples.entry(
                    90, .taskEnded, app: app, detail: "feeds.clean: You are using the device again.",
                    inputs: processing),
            ]).apps.first)
        #expect(row.tasks.map(\.value) == ["feeds.clean"] && row.tasks[0].seconds == 30)
        #expect(row.refresh.fetches.map(\.value) == [.noData] && row.refresh.fetches[0].seconds == 5)
        #expect(row.marks.map(\.kind) == [.expiring])
    }
}
