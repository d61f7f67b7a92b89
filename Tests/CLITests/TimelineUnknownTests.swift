import Foundation
import NightshiftAPI
import Testing

@testable import CLI

/// Unknown times of the timeline: before the service's first entry, between its runs, and before learned use was
/// deleted.
struct TimelineUnknownTests {
    private static let conditions = [
        "power": "external", "idle": "no", "sleeping": "no", "network": "yes", "interface": "wifi", "expensive": "no",
    ]
    private let app = "org.example.Photos"
    private let span = DateInterval(start: TimelineSamples.start, duration: 1_000)

    private func words<Value>(_ spans: [Timeline.Span<Value>], _ name: (Value) -> String) -> [String] {
        spans.map { span in
            let (from, to) = (
                span.from.timeIntervalSince(TimelineSamples.start), span.to.timeIntervalSince(TimelineSamples.start)
            )
            return "\(Int(saturating: from))-\(Int(saturating: to)) \(name(span.value))"
        }
    }

    /// Returns entries of a start: the service records the device state, and half a second later its start.
    private func start(_ at: Double, _ conditions: [String: String] = conditions, id: Int64 = 0) -> [JournalEntry] {
        var found = TimelineSamples.entry(
            at, .deviceChanged, detail: "The conditions when the service started.", inputs: conditions)
        found.id = id
        return [found, TimelineSamples.entry(at + 0.5, .serviceStarted)]
    }

    private func status(idle: Bool, phase: DozePhase = .awake) -> DeviceStatus {
        var conditions = DeviceConditions()
        conditions.isIdle = idle
        return DeviceStatus(
            conditions: conditions, values: [], providers: [], doze: DozeStatus(phase: phase, since: .distantPast),
            holders: [], settings: DeviceSettings())
    }

    @Test func `L5: The timeline draws nothing before the first entry of the service`() {
        let timeline = TimelineReader.timeline(start(990, id: 1), span: span)
        #expect(words(timeline.device, \.rawValue) == ["990-1000 inUse"])
        #expect(words(timeline.power, \.rawValue) == ["990-1000 external"])
        #expect(words(timeline.network, \.words) == ["990-1000 wifi"])
        #expect(timeline.unknownSeconds == 990)
        let svg = TimelineDrawing.svg(timeline, title: "Timeline", timeZone: .gmt)
        #expect(svg.contains("in use 10 s   ·   unknown 16 min 30 s"))
        #expect(!svg.contains(">asleep") && !svg.contains("on battery") && !svg.contains("no network"))
    }

    @Test func `L5: The timeline of an empty journal is empty`() {
        let timeline = TimelineReader.timeline([], span: span)
        #expect(timeline.device.isEmpty && timeline.power.isEmpty && timeline.network.isEmpty)
        #expect(timeline.unknownSeconds == 1_000)
    }

    @Test func `L5: The timeline draws nothing between the last entry of a run and the next start`() throws {
        let entries =
            start(0) + [
                TimelineSamples.entry(10, .appEntered, app: app, detail: "active"),
                TimelineSamples.entry(10, .useBegan, app: app),
                TimelineSamples.entry(20, .accepted, task: 7), TimelineSamples.entry(20, .started, task: 7),
                TimelineSamples.entry(100, .deviceChanged, inputs: ["power": "battery"]),
            ]
            + start(
                600, ["power": "external", "idle": "yes", "sleeping": "no", "network": "yes", "interface": "wifi"]) + [
                TimelineSamples.entry(601, .appAdopted, app: app), TimelineSamples.entry(605, .continued, task: 7),
            ]
        let timeline = TimelineReader.timeline(entries, span: span)
        #expect(words(timeline.device, \.rawValue) == ["0-100 inUse", "600-1000 awake"])
        #expect(words(timeline.power, \.rawValue) == ["0-100 external", "600-1000 external"])
        #expect(words(timeline.network, \.words) == ["0-100 wifi", "600-1000 wifi"])
        let app = try #require(timeline.apps.first)
        #expect(words(app.states, \.rawValue) == ["10-100 active", "601-1000 active"])
        #expect(words(app.refresh.uses) { "\($0)" } == ["10-100 unknown"])
        let transfer = try #require(timeline.transfers.first)
        #expect(words(transfer.spans) { "\($0)" } == ["20-100 running", "600-605 waiting", "605-1000 running"])
    }

    @Test func `L5: Doze continues in the timeline while the service restarts`() {
        let resting = ["power": "battery", "idle": "yes", "sleeping": "no", "network": "yes"]
        let entries = start(0, resting) + [TimelineSamples.entry(60, .dozeBegan)] + start(300, resting)
        let timeline = TimelineReader.timeline(entries, span: span)
        #expect(words(timeline.device, \.rawValue) == ["0-60 awake", "300-1000 dozing"])
    }

    @Test func `L5: Without entries, the timeline shows the current state of the service`() {
        let busy = TimelineReader.timeline([], span: span, current: status(idle: false))
        #expect(words(busy.device, \.rawValue) == ["0-1000 inUse"])
        let left = TimelineSamples.entry(400, .deviceChanged, inputs: ["idle": "yes"])
        let timeline = TimelineReader.timeline([left], span: span, current: status(idle: true))
        #expect(words(timeline.device, \.rawValue) == ["0-400 inUse", "400-1000 awake"])
        #expect(words(timeline.power, \.rawValue) == ["0-1000 external"])
    }

    @Test func `L5: The timeline does not draw the current state before the service started`() {
        let timeline = TimelineReader.timeline(start(500), span: span, current: status(idle: true, phase: .dozing))
        #expect(timeline.device.first?.from == TimelineSamples.start.addingTimeInterval(500))
    }

    @Test func `L5 R1: The timeline does not derive deleted uses from later entries`() throws {
        // The entries about its use were deleted. The app was in use all the time.
        let entries =
            start(0, ["power": "battery", "sleeping": "no"]) + [
                TimelineSamples.entry(400, .learnedForgotten),
                TimelineSamples.entry(700, .deviceChanged, inputs: ["idle": "yes"]),
                TimelineSamples.entry(700, .useEnded, app: app), TimelineSamples.entry(760, .dozeBegan),
            ]
        let timeline = TimelineReader.timeline(entries, span: span)
        #expect(words(timeline.device, \.rawValue) == ["400-700 inUse", "700-760 awake", "760-1000 dozing"])
        let row = try #require(timeline.apps.first).refresh
        #expect(words(row.uses) { "\($0)" } == ["400-700 unknown"])
    }
}
