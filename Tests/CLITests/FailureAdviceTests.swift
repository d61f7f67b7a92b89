import Foundation
import NightshiftAPI
import Testing

@testable import CLI

/// Tests of the lines about failures that the service retries.
struct FailureAdviceTests {
    private static let limit = "until its time limit (--timeout, 7 days by default)"

    @Test(
        arguments: [
            (.cannotResolveHost, "Check the name of the host."), (.cannotConnect, "Check the host and the port"),
            (.proxyFailure, "Check the address of the proxy: --proxy"), (.certificateOutOfDate, "Check the clock"),
            (.diskFull, "Free some space"), (.tlsFailure, "The transfer is retried automatically"),
            (.serverUnavailable, "The transfer is retried automatically"),
        ] as [(TransferFailure.Code, String)])
    func `A failure that is retried has advice`(code: TransferFailure.Code, beginning: String) throws {
        let failure = TransferFailure(code, "The cause.")
        let advice = try #require(TaskText.advice(failure, task: TaskID(4), saysUntilWhen: true))
        #expect(advice.hasPrefix(beginning))
        #expect(
            advice.hasSuffix(
                "The transfer is retried automatically \(Self.limit); 'nightshift retry 4' retries it now."))
    }

    @Test(arguments: TransferFailure.Code.allCases.filter(\.isPermanent))
    func `A permanent failure has no advice about retries`(code: TransferFailure.Code) {
        #expect(TaskText.advice(TransferFailure(code, "The cause."), task: TaskID(4), saysUntilWhen: true) == nil)
    }

    @Test func `Only the first advice says how long the service retries`() throws {
        var advice = FailureAdvice()
        let first = advice.next(TransferFailure(.cannotConnect, "one"), task: TaskID(1))
        let second = advice.next(TransferFailure(.cannotConnect, "two"), task: TaskID(1))
        let repeated = advice.next(TransferFailure(.cannotConnect, "one"), task: TaskID(2))
        #expect(try #require(first).contains(Self.limit))
        #expect(try !#require(second).contains(Self.limit))
        #expect(repeated == nil)
    }

    @Test func `Plain output contains the cause of the first failure and of each other failure`() throws {
        let ear = Ear()
        var reporter = PlainReporter(
            paths: PathOutput(output: Ear().output()), errors: ear.output(), now: { Samples.now })
        let task = FollowedTask(id: TaskID(4), kind: .download, name: "x")
        for message in ["Refused.", "Refused.", "Unreachable."] {
            var entry = Samples.entry(1, .held, task: 4)
            entry.error = TransferFailure(.cannotConnect, message)
            entry.wait = Wait(reason: .retry, since: Samples.now, until: Samples.now.addingTimeInterval(4))
            reporter.decided(entry, task: task)
        }
        let lines = ear.text.split(separator: "\n").map(String.init)
        #expect(lines.count == 7, "\(lines)")
        #expect(lines[1] == "  no connection to the host: Refused.")
        #expect(lines[5] == "  no connection to the host: Unreachable.")
    }

    @Test func `An old error is not printed while a transfer waits for the network`() {
        let ear = Ear()
        var reporter = PlainReporter(
            paths: PathOutput(output: Ear().output()), errors: ear.output(), now: { Samples.now })
        var task = FollowedTask(id: TaskID(4), kind: .download, name: "x")
        task.lastError = TransferFailure(.cannotConnect, "Refused.")
        task.wait = Wait(reason: .network, since: Samples.now)
        reporter.learned(task)
        #expect(ear.text == "4 x: waiting: no network\n")
    }

    @Test func `get prints one line when a mirror is dropped`() {
        var entry = Samples.entry(1, .mirrorDropped, task: 4)
        entry.detail = "http://mirror.example:80: the mirror's file has another digest."
        let task = FollowedTask(id: TaskID(4), kind: .download, name: "x")
        let plain = Ear()
        var reporter = PlainReporter(
            paths: PathOutput(output: Ear().output()), errors: plain.output(), now: { Samples.now })
        reporter.decided(entry, task: task)
        let sentence = "a mirror is no longer used: http://mirror.example:80: the mirror's file has another digest."
        #expect(plain.text == "4 x: \(sentence)\n")
        let live = Ear()
        var terminal = LiveReporter(
            paths: PathOutput(output: Ear().output()), screen: live.output(isTerminal: true), now: { Samples.now })
        terminal.decided(entry, task: task)
        #expect(live.text.contains(sentence))
    }
}
