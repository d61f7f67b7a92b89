import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct LiveReporterTests {
    /// Returns the lines that a terminal shows after these bytes, with cursor movements and erasures applied.
    private func screen(_ text: String) -> [String] {
        var lines: [String] = [""]
        var row = 0
        var rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case "\n":
                row += 1
                if row == lines.count { lines.append("") }
            case "\r":
                break
            case "\u{1b}":
                let sequence = rest.prefix { !$0.isLetter }
                rest = rest.dropFirst(sequence.count)
                switch rest.popFirst() {
                case "A": row -= Int(sequence.dropFirst()) ?? 0
                case "J":
                    lines.removeSubrange((row + 1)...)
                    lines[row] = ""
                default: Issue.record("an unexpected sequence")
                }
            default:
                lines[row].append(character)
            }
        }
        return lines.filter { !$0.isEmpty }
    }

    @Test func `get reports a host that cannot be found at once, with advice`() throws {
        let ear = Ear()
        var reporter: any TransferReporter = LiveReporter(
            paths: PathOutput(output: Ear().output()), screen: ear.output(isTerminal: true), now: { Samples.now })
        var tasks = FollowedTasks()
        for id: Int64 in [13, 16] { tasks.add(FollowedTask(Samples.waiting(id))) }
        for id: Int64 in [13, 16, 13] {
            var entry = Samples.entry(id, .held, task: id)
            entry.error = TransferFailure(.cannotResolveHost, "The address of nxdomain.example could not be found.")
            try reporter.decided(entry, task: #require(tasks.pending[TaskID(id)]))
        }
        let lines = screen(ear.text)
        // The advice is printed once, however many transfers have the failure.
        #expect(lines.count == 2, "\(lines)")
        #expect(lines.first?.contains("nxdomain.example could not be found") == true)
        #expect(lines.last?.contains("nightshift cancel 13") == true)
        #expect(lines.last?.contains("nightshift retry 13") == true)
    }

    @Test func `get reports a transfer that waits for a host that another transfer did not find`() throws {
        let ear = Ear()
        var reporter: any TransferReporter = LiveReporter(
            paths: PathOutput(output: Ear().output()), screen: ear.output(isTerminal: true), now: { Samples.now })
        var tasks = FollowedTasks()
        let task = FollowedTask(Samples.heldByHost(13))
        tasks.add(task)
        try reporter.learned(task)
        try reporter.learned(task)
        reporter.tick(tasks)
        let lines = screen(ear.text)
        #expect(lines.count == 3, "\(lines)")
        #expect(lines.first?.contains("nxdomain.example could not be found") == true)
        #expect(lines.dropFirst().first?.contains("nightshift cancel 13") == true)
        #expect(lines.last?.contains("waiting: host not found, again in 1 min 24 s") == true)
    }

    @Test func `Plain output contains the advice about a missing host too`() throws {
        let ear = Ear()
        var reporter: any TransferReporter = PlainReporter(
            paths: PathOutput(output: Ear().output()), errors: ear.output(), now: { Samples.now })
        let task = FollowedTask(Samples.heldByHost(13))
        try reporter.learned(task)
        var entry = Samples.entry(2, .held, task: 13)
        entry.error = task.failure
        entry.wait = Wait(reason: .retry, since: Samples.now, until: Samples.now.addingTimeInterval(4))
        try reporter.decided(entry, task: task)
        let lines = ear.text.split(separator: "\n")
        #expect(lines.count == 4, "\(lines)")
        #expect(lines.first == "13 film one.mkv: waiting: host not found, again in 1 min 24 s")
        #expect(lines[1].contains("nxdomain.example could not be found"))
        #expect(lines[2].contains("nightshift cancel 13"))
        #expect(lines.last == "13 film one.mkv: waiting: host not found, again in 4 s")
    }

    @Test func `get reports a full disk once, with advice`() throws {
        let ear = Ear()
        var reporter: any TransferReporter = LiveReporter(
            paths: PathOutput(output: Ear().output()), screen: ear.output(isTerminal: true), now: { Samples.now })
        var tasks = FollowedTasks()
        tasks.add(FollowedTask(Samples.waiting(13)))
        for free in [500, 400] {
            var entry = Samples.entry(13, .held, task: 13)
            entry.error = TransferFailure(.diskFull, "1000 more bytes are needed and \(free) are free.")
            try reporter.decided(entry, task: #require(tasks.pending[13]))
        }
        let lines = screen(ear.text)
        #expect(lines.first?.contains("1000 more bytes are needed and 500 are free") == true)
        #expect(lines.contains { $0.contains("nightshift retry 13") })
        #expect(!lines.contains { $0.contains("400") }, "\(lines)")
    }

    @Test func `Lines about ended transfers stay above the live view, which disappears at the end`() throws {
        let ear = Ear()
        let paths = Ear()
        var reporter: any TransferReporter = LiveReporter(
            paths: PathOutput(output: paths.output()), screen: ear.output(isTerminal: true), now: { Samples.now })
        var tasks = FollowedTasks()
        for task in [Samples.running(14), Samples.waiting(13), Samples.running(15)] { tasks.add(FollowedTask(task)) }
        reporter.tick(tasks)
        #expect(screen(ear.text).count == 4)
        try reporter.connection(isLost: true)
        reporter.tick(tasks)
        #expect(screen(ear.text).last == "The connection to the service was lost. Reconnecting.")
        try reporter.connection(isLost: false)
        for status in [Samples.completed(14), Samples.failed(15)] {
            #expect(tasks.update(status) == true)
            try reporter.ended(status, of: tasks)
            reporter.tick(tasks)
        }
        var restarted = Samples.entry(7, .restarted, task: 13)
        restarted.detail = "ETag changed\u{1b}[2J"
        try reporter.decided(restarted, task: try #require(tasks.pending[TaskID(13)]))
        tasks.forget(TaskID(13))
        reporter.tick(tasks)
        reporter.finish(tasks)
        #expect(
            screen(ear.text) == [
                "/home/ada/Downloads/film one.mkv: 1.5 GiB, sha-256 verified",
                "15 film one.mkv: failed: The server answered 404 Not Found.",
                "  If the URL has expired, run: nightshift retarget 15 URL",
                "data.tar: starting again: ETag changed\\x1b[2J", "1 of 3 completed, 2 ended incomplete, 1.5 GiB",
            ])
        #expect(paths.text == "/home/ada/Downloads/film one.mkv\n")
    }

    @Test func `get only counts the completed files of a long list`() throws {
        let ear = Ear()
        var reporter = LiveReporter(
            paths: PathOutput(output: Ear().output()), screen: ear.output(isTerminal: true), now: { Samples.now })
        var tasks = FollowedTasks()
        for id in 1...200 { tasks.add(FollowedTask(id: TaskID(Int64(id)), kind: .download, name: "x")) }
        for id in 1...199 {
            let status = Samples.completed(Int64(id))
            #expect(tasks.update(status) == true)
            reporter.ended(status, of: tasks)
        }
        let failed = Samples.failed(200)
        #expect(tasks.update(failed) == true)
        reporter.ended(failed, of: tasks)
        reporter.finish(tasks)
        #expect(screen(ear.text).count == 3)
    }
}
