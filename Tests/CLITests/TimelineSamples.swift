import Foundation
import NightshiftAPI

@testable import CLI

/// A small journal of an evening in which doze pauses one app and another app is ended.
enum TimelineSamples {
    static let start = Date(timeIntervalSince1970: 1_767_639_600)  // 2026-01-05T19:00:00Z

    static let entries: [JournalEntry] = [
        entry(0, .serviceStarted, inputs: ["power": "battery", "idle": "no", "interface": "wifi", "expensive": "no"]),
        entry(60, .appEntered, app: "org.example.Photos", detail: "active"),
        entry(120, .accepted, task: 7, detail: "Transfers 7 to 8."),
        entry(120, .started, task: 7),
        entry(300, .backgroundTaskBegan, app: "org.example.Photos", detail: "export <1> & \"more\""),
        entry(310, .appEntered, app: "org.example.Photos", detail: "background"),
        entry(320, .deviceChanged, detail: "idle: no → yes", inputs: ["idle": "yes"]),
        entry(380, .dozeBegan),
        entry(380, .backgroundTimeStopped, app: "org.example.Photos"),
        held(380, task: 7),
        entry(1_280, .windowOpened, detail: "It was time for a maintenance window."),
        entry(1_280, .backgroundTimeResumed, app: "org.example.Photos"),
        entry(1_280, .continued, task: 7),
        entry(1_400, .completed, task: 7),
        entry(1_410, .backgroundTimeExpiring, app: "org.example.Photos"),
        entry(
            1_415, .appEnded, app: "org.example.Photos",
            detail: "The service ended the app: a background task was still open when its background time was over.",
            inputs: ["cause": "taskOverdue"]),
        entry(1_425, .windowClosed),
        entry(1_500, .appWoken, app: "org.example.News", detail: "articles"),
        entry(1_505, .appEntered, app: "org.example.News", detail: "suspended"),
        entry(1_600, .deviceChanged, inputs: ["interface": "cellular", "expensive": "yes"]),
        entry(1_800, .deviceSlept),
    ]

    static let span = DateInterval(start: start, duration: 2_400)

    static var timeline: Timeline { TimelineReader.timeline(entries, span: span) }

    static func entry(
        _ seconds: Double, _ decision: Decision, app: String? = nil, task: Int64? = nil, detail: String? = nil,
        inputs: [String: String]? = nil
    ) -> JournalEntry {
        JournalEntry(
            time: start.addingTimeInterval(seconds), decision: decision, task: task.map { TaskID($0) },
            app: app.map(AppID.init(rawValue:)), detail: detail, inputs: inputs)
    }

    private static func held(_ seconds: Double, task: Int64) -> JournalEntry {
        var entry = entry(seconds, .held, task: task)
        entry.wait = Wait(reason: .doze, since: entry.time)
        return entry
    }
}
