import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct TimelineReaderTests {
    /// Returns texts such as "0-310 inUse", in seconds since the start of the sample.
    private func words<Value>(_ spans: [Timeline.Span<Value>], _ name: (Value) -> String) -> [String] {
        spans.map { span in
            let (from, to) = (
                span.from.timeIntervalSince(TimelineSamples.start), span.to.timeIntervalSince(TimelineSamples.start)
            )
            return "\(Int(saturating: from))-\(Int(saturating: to)) \(name(span.value))"
        }
    }

    @Test func `L5: The timeline shows the activity of the device according to the journal`() {
        let timeline = TimelineSamples.timeline
        #expect(
            words(timeline.device, \.rawValue) == [
                "0-320 inUse", "320-380 awake", "380-1280 dozing", "1280-1425 window", "1425-1800 dozing",
                "1800-2400 asleep",
            ])
        #expect(words(timeline.power, \.rawValue) == ["0-2400 battery"])
        #expect(words(timeline.network, \.words) == ["0-1600 wifi", "1600-2400 cellular, metered"])
    }

    @Test func `L5: The timeline shows the states, tasks and marks of apps`() throws {
        let apps = TimelineSamples.timeline.apps
        #expect(apps.map(\.id.rawValue) == ["org.example.Photos", "org.example.News"])
        #expect(
            words(apps[0].states, \.rawValue) == [
                "60-310 active", "310-380 background", "380-1280 standing", "1280-1415 background",
            ])
        #expect(words(apps[0].tasks, \.self) == ["300-1415 export <1> & \"more\""])
        #expect(apps[0].marks.map(\.kind) == [.expiring, .killed])
        #expect(words(apps[1].states, \.rawValue) == ["1500-1505 background", "1505-2400 suspended"])
        #expect(apps[1].marks.map(\.kind) == [.woken])
    }

    @Test func `L5: The timeline shows when transfers ran or waited, with the reasons`() throws {
        let rows = TimelineSamples.timeline.transfers
        #expect(rows.map(\.label) == ["Transfer 7", "Transfer 8"])
        let spans = rows[0].spans
        #expect(words(spans) { "\($0)" } == ["120-380 running", "380-1280 waiting", "1280-1400 running"])
        #expect(spans[1].note?.hasPrefix(WaitReason.doze.sentence) == true)
        #expect(words(rows[1].spans) { "\($0)" } == ["120-2400 waiting"])
    }

    @Test func `L5: The timeline derives the state before the first entry from later entries`() {
        let entries = [
            TimelineSamples.entry(10, .windowClosed),
            TimelineSamples.entry(20, .deviceChanged, inputs: ["power": "external", "idle": "no"]),
            TimelineSamples.entry(20, .dozeEnded), TimelineSamples.entry(30, .deviceReleased),
        ]
        let timeline = TimelineReader.timeline(
            entries, span: DateInterval(start: TimelineSamples.start, duration: 40))
        #expect(words(timeline.device, \.rawValue) == ["0-10 window", "10-20 dozing", "20-40 inUse"])
        #expect(words(timeline.power, \.rawValue) == ["0-20 battery", "20-40 external"])
        #expect(timeline.network.isEmpty)
    }

    @Test func `L3: The timeline marks the time in which an app kept the device awake`() {
        let entries = [
            TimelineSamples.entry(0, .serviceStarted, inputs: ["idle": "yes"]),
            TimelineSamples.entry(10, .deviceHeldAwake), TimelineSamples.entry(30, .deviceReleased),
        ]
        let timeline = TimelineReader.timeline(
            entries, span: DateInterval(start: TimelineSamples.start, duration: 40))
        #expect(words(timeline.device, \.rawValue) == ["0-10 awake", "10-30 held", "30-40 awake"])
    }

    @Test func `L5: The timeline combines many transfers into one row for each app`() throws {
        var entries: [JournalEntry] = []
        for number in 0..<40 {
            let app = number % 2 == 0 ? "org.example.Mail" : "/usr/bin/sync"
            let time = Double(number) * 10
            var accepted = TimelineSamples.entry(time, .accepted, app: app, task: Int64(number + 1))
            accepted.detail = nil
            entries += [
                accepted, TimelineSamples.entry(time + 1, .started, app: app, task: Int64(number + 1)),
                TimelineSamples.entry(time + 25, .completed, app: app, task: Int64(number + 1)),
            ]
        }
        entries.sort { $0.time < $1.time }
        let timeline = TimelineReader.timeline(
            entries, span: DateInterval(start: TimelineSamples.start, duration: 500))
        #expect(timeline.transfers.map(\.label) == ["sync (20)", "Mail (20)"])
        // Each transfer runs from 1 s to 25 s after it was accepted, and the next one of its app comes after 20 s.
        // There is therefore no gap.
        let mail = timeline.transfers[1].spans
        #expect(words(mail) { "\($0)" } == ["0-1 waiting", "1-405 running"])
        #expect(timeline.hidden == 0)
    }

    @Test func `L5: The timeline counts rows that do not fit`() {
        let entries = (0..<30).map { number in
            TimelineSamples.entry(Double(number), .accepted, app: "org.example.App\(number)", task: Int64(number + 1))
        }
        let timeline = TimelineReader.timeline(
            entries, span: DateInterval(start: TimelineSamples.start, duration: 100))
        #expect(timeline.transfers.count == TransferTracks.mostRows)
        #expect(timeline.hidden == 30 - TransferTracks.mostRows)
    }

    @Test func `L5: The timeline ignores an impossible range of transfer numbers`() {
        let entry = TimelineSamples.entry(0, .accepted, task: Int64.min, detail: "Transfers 1 to \(Int64.max).")
        let timeline = TimelineReader.timeline(
            [entry], span: DateInterval(start: TimelineSamples.start, duration: 100))
        #expect(timeline.transfers.map(\.count) == [1])
    }

    @Test(arguments: ["Transfers 3 to 7.", "Tasks 3 to 7."])
    func `L5: The timeline reads a range of transfers in today's words, and in those of earlier versions`(
        detail: String
    ) {
        let entry = TimelineSamples.entry(0, .accepted, task: 3, detail: detail)
        let timeline = TimelineReader.timeline(
            [entry], span: DateInterval(start: TimelineSamples.start, duration: 100))
        #expect(timeline.transfers.map(\.label) == (3...7).map { "Transfer \($0)" })
    }

    @Test func `L5: The timeline draws only the requested apps`() {
        let timeline = TimelineReader.timeline(
            TimelineSamples.entries, span: TimelineSamples.span, apps: [AppID(rawValue: "org.example.News")])
        #expect(timeline.apps.map(\.id.rawValue) == ["org.example.News"])
        #expect(!timeline.device.isEmpty)
    }

    @Test func `L5: The timeline of an app draws no transfers of other apps or of no app`() {
        let news = AppID(rawValue: "org.example.News")
        let entries = [
            TimelineSamples.entry(1, .accepted, app: news.rawValue, task: 1),
            TimelineSamples.entry(2, .accepted, app: "org.example.Photos", task: 2),
            TimelineSamples.entry(3, .accepted, task: 3),
        ]
        let timeline = TimelineReader.timeline(entries, span: TimelineSamples.span, apps: [news])
        #expect(timeline.transfers.map(\.task) == [TaskID(1)])
    }
}
