import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct ReportTests {
    private let report = TaskReport(times: Samples.times, style: Style(isEnabled: false))

    @Test func show() throws {
        var upload = Samples.completed(16)
        upload.kind = .upload
        upload.method = "PUT"
        upload.source = "/home/ada/a\u{1b}[2J.tar"
        upload.file = nil
        upload.destination = nil
        upload.countOfBytesSent = 5_000
        upload.countOfBytesExpectedToSend = 5_000
        var kept = Samples.failed(17)
        kept.state = .cancelled
        kept.error = nil
        kept.resumeData = "token"
        var careful = Samples.waiting(18)
        careful.lastError = nil
        careful.wait = Wait(
            reason: .battery, since: Samples.ago(60), detail: "The battery is at 34 %; 50 % is required.")
        careful.rules = TransferRules(code: 50 << 8 | 2)
        let tasks = [
            Samples.running(), Samples.waiting(), Samples.completed(), Samples.failed(), upload, kept, careful,
        ]
        try Fixture.check(
            "show", tasks.map { report.lines(showing: $0).joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test func why() throws {
        var lost = Samples.entry(3, .held, task: 13, secondsAgo: 60)
        lost.error = TransferFailure(.connectionLost, "The server closed the connection after 12 bytes.")
        var held = Samples.entry(4, .held, task: 13, secondsAgo: 4)
        held.error = Samples.waiting().lastError
        held.wait = Samples.waiting().wait
        let waiting = Explanation(
            task: Samples.waiting(), sentence: WaitReason.retry.sentence, endedBy: nil,
            history: [
                Samples.entry(1, .accepted, task: 13, secondsAgo: 400),
                Samples.entry(2, .started, task: 13, secondsAgo: 390), lost, held,
            ])
        var offline = Samples.waiting(18)
        offline.wait = Wait(reason: .network, since: Samples.ago(90))
        offline.lastError = nil
        let explanations = [
            waiting,
            Explanation(task: offline, sentence: WaitReason.network.sentence, endedBy: nil, history: []),
            Explanation(
                task: Samples.failed(), sentence: "The server answered with an error.", endedBy: nil, history: []),
        ]
        try Fixture.check(
            "why", explanations.map { report.lines(explaining: $0).joined(separator: "\n") }.joined(separator: "\n\n"))
    }

    @Test func `A running transfer is explained with the time of its start, whatever happened since`() throws {
        var upload = Samples.waiting(19)
        (upload.state, upload.wait) = (.running, nil)
        let history = [
            Samples.entry(1, .accepted, task: 19, secondsAgo: 400),
            Samples.entry(2, .started, task: 19, secondsAgo: 390),
            Samples.entry(3, .uploadKept, task: 19, secondsAgo: 20),
        ]
        func since(_ history: [JournalEntry]) throws -> String {
            let lines = report.lines(
                explaining: Explanation(task: upload, sentence: "It runs.", endedBy: nil, history: history))
            return try #require(lines.first { $0.contains("since") })
        }
        #expect(try since(history).contains(Samples.times.both(Samples.ago(390))))
        #expect(try since(history.suffix(1)).contains(Samples.times.both(Samples.ago(20))))
    }

    @Test func list() throws {
        var paused = Samples.running(1_234_567)
        paused.state = .suspended
        let tasks = [Samples.running(), Samples.waiting(), Samples.completed(), Samples.failed(), paused]
        for columns in [30, 40, 60, 80, 120] {
            let table = TaskTable(columns: columns, style: Style(isEnabled: false))
            let lines = tasks.map { table.line($0, times: Samples.times) }
            #expect(lines.allSatisfy { TerminalText.width($0) <= columns })
            #expect(lines.allSatisfy { $0.contains("film one.mkv") || $0.contains("data.tar") }, "\(columns)")
            try Fixture.check("list-\(columns)", ([table.header] + lines).joined(separator: "\n"))
        }
    }

    @Test func status() throws {
        try Fixture.check(
            "status", StatusCommand.lines(Samples.status, times: Samples.times).joined(separator: "\n"))
        try Fixture.check("limit", LimitCommand.lines(Samples.status.settings).joined(separator: "\n"))
        #expect(LimitCommand.transfers(ServiceSettings(maximumTransfers: 1)) == "at most 1 transfer")
        #expect(LimitCommand.transfers(ServiceSettings(maximumTransfers: 2)) == "at most 2 transfers")
    }

    @Test func `B9: doctor says that downloads cannot measure the delay for other traffic`() {
        #expect(
            DoctorChecks.checkYielding(timestamps: "0\n").line(Style(isEnabled: false)).contains(
                "TCP timestamps are off"))
        for setting in ["1\n", "2\n", nil] {
            #expect(
                DoctorChecks.checkYielding(timestamps: setting).line(Style(isEnabled: false)).contains("can measure"))
        }
    }

    @Test func findings() throws {
        let findings = [
            Finding.ok("space", "12 GiB free"), .warn("linger", "ends at logout", advice: "loginctl enable-linger"),
            .fail("socket", "other users have access to \u{1b}[31m", advice: "Run: chmod 600 it"),
        ]
        try Fixture.check("doctor", findings.map { $0.line(Style(isEnabled: false)) }.joined(separator: "\n"))
    }

    @Test(arguments: WaitReason.allCases)
    func `Every wait reason has a text`(_ reason: WaitReason) {
        let wait = Wait(reason: reason, since: Samples.now, until: Samples.now.addingTimeInterval(4))
        let text = TaskText.waiting(wait, lastError: nil, now: Samples.now)
        #expect(text.hasPrefix("waiting: ") && text.count > 15)
    }

    @Test func `show prints a wait with its failure and the time of the next attempt`() {
        let error = TransferFailure(.serverUnavailable, "x", status: 503)
        let wait = Wait(reason: .hostBackoff, since: Samples.now, until: Samples.now.addingTimeInterval(64))
        #expect(
            TaskText.waiting(wait, lastError: error, now: Samples.now) == "waiting: HTTP 503, again in 1 min 4 s")
    }

    @Test func `show prints the requirements of a transfer`() {
        #expect(TaskText.needs(TransferRules()) == nil)
        var rules = TransferRules()
        rules.discretion = .full
        rules.allowsCellularAccess = false
        #expect(TaskText.needs(rules) == "good conditions, no cellular network")
        rules.discretion = .relaxed
        rules.allowsCellularAccess = true
        rules.allowsExpensiveNetworkAccess = false
        rules.allowsConstrainedNetworkAccess = false
        rules.requiresExternalPower = true
        rules.minimumBattery = 40
        #expect(
            TaskText.needs(rules) == """
                fairly good conditions, no metered network, no network with data saver, \
                external power, 40 % battery or external power
                """)
    }

    @Test func liveView() throws {
        var tasks = FollowedTasks()
        for task in [Samples.running(), Samples.waiting(), Samples.running(20)] { tasks.add(FollowedTask(task)) }
        var unknown = Samples.running(21)
        unknown.countOfBytesExpectedToReceive = -1
        unknown.url = "https://a.example/" + String(repeating: "long-name-", count: 9) + ".bin"
        tasks.add(FollowedTask(unknown))
        var paused = Samples.running(22)
        paused.state = .suspended
        tasks.add(FollowedTask(paused))
        tasks.add(FollowedTask(Samples.running(23)))
        _ = tasks.update(Samples.completed(23))
        for (columns, rows) in [(80, 24), (40, 24), (120, 4)] {
            let view = TransferView(
                size: TerminalSize(columns: columns, rows: rows), style: Style(isEnabled: false), now: Samples.now)
            let lines = view.lines(tasks, notice: columns == 80 ? "The service went away." : nil)
            #expect(lines.count < rows)
            #expect(lines.allSatisfy { TerminalText.width($0) < columns })
            try Fixture.check("view-\(columns)x\(rows)", lines.joined(separator: "\n"))
        }
    }

    @Test func `The live view counts a long queue instead of listing it`() {
        var tasks = FollowedTasks()
        for id in 1...50_000 { tasks.add(FollowedTask(id: TaskID(Int64(id)), kind: .download, name: "x")) }
        let view = TransferView(size: .standard, style: Style(isEnabled: false), now: Samples.now)
        #expect(view.lines(tasks) == ["0 of 50000 completed, 50000 waiting, 0 B"])
    }

    @Test func `Output has colours only if colours are enabled`() {
        #expect(Style(isEnabled: true).bad("x") == "\u{1b}[31mx\u{1b}[0m")
        #expect(Style(isEnabled: false).bad("x") == "x")
    }
}
