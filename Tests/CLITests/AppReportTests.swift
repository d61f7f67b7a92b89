import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct AppReportTests {
    private let report = AppReport(times: Samples.times, style: Style(isEnabled: false))

    private func entry(_ decision: Decision, secondsAgo: Double, detail: String? = nil) -> JournalEntry {
        JournalEntry(time: Samples.ago(secondsAgo), decision: decision, app: AppSamples.id, detail: detail)
    }

    @Test func `L1: app show prints state, process, wakes, limits and last exit`() throws {
        try Fixture.check(
            "app-show",
            (AppSamples.all + [AppSamples.dozing]).map { report.lines(showing: $0).joined(separator: "\n") }
                .joined(separator: "\n\n"))
    }

    @Test func `L1: app why prints the reason for the state, what ends it, and earlier events`() throws {
        let explanations = [
            AppExplanation(
                app: AppSamples.suspended, sentence: "It sleeps until one of its sessions needs it.",
                endedBy: "the last transfer of a session ending",
                history: [
                    entry(.appLaunched, secondsAgo: 300), entry(.appEntered, secondsAgo: 240, detail: "suspended"),
                    entry(.appWoken, secondsAgo: 2, detail: "events of \u{1b}photos"),
                ]),
            AppExplanation(
                app: AppSamples.faulty, sentence: "It crashed three times in a row.", endedBy: "time", history: []),
        ]
        try Fixture.check(
            "app-why",
            explanations.map { report.lines(explaining: $0).joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test(arguments: [80, 120])
    func `L1: app list fits its table into the width of the terminal`(columns: Int) throws {
        let table = AppTable(columns: columns, style: Style(isEnabled: false), times: Samples.times)
        var long = AppSamples.active
        long = AppStatus(
            id: AppID(rawValue: "org." + String(repeating: "long.", count: 20) + "App"), name: "", state: .inactive,
            background: AppSamples.background)
        let lines = table.lines(AppSamples.all + [long])
        #expect(lines.allSatisfy { TerminalText.width($0) <= columns })
        try Fixture.check("app-list-\(columns)", lines.joined(separator: "\n"))
    }

    @Test func `L1: app list does not shorten ids that it prints to a pipe`() {
        let id = "org." + String(repeating: "long.", count: 20) + "App"
        let table = AppTable(columns: .max, style: Style(isEnabled: false), times: Samples.times)
        let lines = table.lines([
            AppStatus(id: AppID(rawValue: id), name: "", state: .inactive, background: AppSamples.background)
        ])
        #expect(lines.last?.hasPrefix(id + "  inactive") == true)
    }

    @Test func `L1: app show escapes control characters in texts of an app`() {
        let table = AppTable(columns: 120, style: Style(isEnabled: false), times: Samples.times)
        let app = AppSamples.program
        let texts =
            report.lines(showing: app) + report.lines(installed: app) + [report.line(changed: app)]
            + table.lines([app])
        #expect(texts.allSatisfy { text in text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E } })
    }

    @Test func `L1: A terminal shows errors in red`() {
        let coloured = AppReport(times: Samples.times, style: Style(isEnabled: true))
        #expect(coloured.lines(showing: AppSamples.faulty).contains { $0.contains("\u{1b}[31mnot running\u{1b}[0m") })
        #expect(coloured.lines(showing: AppSamples.active).contains { $0.contains("\u{1b}[32mactive\u{1b}[0m") })
    }

    @Test(arguments: ExitCause.allCases)
    func `L1: Every cause of exit has a text`(_ cause: ExitCause) {
        let text = AppText.exit(AppExit(time: Samples.now, cause: cause, status: 3, detail: "x\u{1b}"))
        #expect(text.hasPrefix(cause.sentence) && text.contains("status 3") && text.hasSuffix("x\\x1b)"))
        #expect(text.contains("0x8badf00d") == (cause.code == 0x8bad_f00d))
    }

    @Test func `R9: app install prints the background modes of the app`() {
        #expect(report.lines(installed: AppSamples.active).last?.hasSuffix("for: transfer, processing") == true)
        #expect(report.lines(installed: AppSamples.faulty).last?.contains("X-Nightshift-BackgroundModes") == true)
        #expect(report.warnings(installed: AppSamples.active).isEmpty)
        var app = AppSamples.active
        app.missingProgram = "The program 'a\u{1b}[2J' is in no folder of the service's PATH (/usr/bin:/bin)."
        let warnings = report.warnings(installed: app)
        #expect(warnings.first?.contains("'a\\x1b[2J' is in no folder of the service's PATH (/usr/bin:/bin).") == true)
        #expect(warnings.last?.hasSuffix("run: nightshift service stop; nightshift service start") == true)
    }
}
