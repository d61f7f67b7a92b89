import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing
import Transfers

/// Tests that compare the task's state machine with its legality model.
@Suite struct TaskMachineTests {
    static let start = ClockReading(bootID: "b", bootSeconds: 100, wallSeconds: 1_800_000_000)

    static func record(_ state: TaskState = .waiting) -> TaskRecord {
        var record = TaskRecord(
            session: .terminal, origin: "http://h:80", state: .waiting, priority: 0.5, createdAt: 1_800_000_000,
            request: TaskRequest(url: "http://h/"))
        record.id = TaskID(1)
        record.request.resourceTimeout = 900
        record.deadline = 1_000
        record.forceDiscretion()
        let path: [TaskEvent] =
            switch state {
            case .waiting, .running: []
            case .suspended: [.suspend]
            case .finishing: [.finish(nil)]
            case .completed: [.finish(nil), .complete(file: "/f", verified: [])]
            case .failed: [.fail(TransferFailure(.timedOut, "late"), file: nil, resumeData: nil)]
            case .cancelled: [.cancel(resumeData: nil, failure: nil)]
            }
        for event in path { _ = try? record.apply(event, now: start) }
        return record
    }

    static func event(_ kind: TaskLegality.Kind, _ random: inout SplitMix64) -> TaskEvent {
        func chance() -> Bool { Bool.random(using: &random) }
        let failure = TransferFailure(.connectionLost, "gone")
        switch kind {
        case .suspend: return .suspend
        case .resume: return .resume
        case .accept:
            var partial = PartialFile(path: chance() ? "/p/a" : "/p/b", bootID: "b")
            partial.total = 1_000
            return .accept(
                AcceptedResponse(
                    response: ResponseSummary(status: 200, headers: [], httpVersion: "1.1"), url: "http://h/",
                    partial: partial, isLarge: chance(), offset: chance() ? 0 : 400, restart: chance() ? "changed" : nil
                ))
        case .checkpoint: return .checkpoint(synced: Int64.random(in: 0...1_000, using: &random))
        case .interrupt:
            return .interrupt([.starting, .smallerFirst, .retry].randomElement(using: &random) ?? .starting)
        case .hold:
            return .hold(
                Hold(reason: chance() ? .retry : .diskSpace, failure: failure, notBefore: chance() ? 500 : nil))
        case .finish: return .finish(chance() ? nil : ResponseSummary(status: 200, headers: [], httpVersion: "2"))
        case .publish: return .publish(Publication(from: "/a", to: "/b", inode: 1, size: 2, overwrite: false))
        case .complete: return .complete(file: chance() ? nil : "/f", verified: chance() ? [] : ["md5"])
        case .fetchAgain:
            return .fetchAgain(TransferFailure(.checksumMismatch, "wrong"), notBefore: chance() ? 500 : nil)
        case .begin: return .begin
        case .retry: return .retry
        case .fail: return .fail(failure, file: nil, resumeData: nil)
        case .cancel:
            return .cancel(resumeData: nil, failure: chance() ? nil : TransferFailure(.forceQuit, "quit"))
        case .ask: return .ask("A server asks.")
        case .answer: return .answer
        case .loosen: return .loosen
        case .retarget:
            var request = TaskRequest(url: chance() ? "http://h/" : "http://other/")
            request.resourceTimeout = 900
            return .retarget(request)
        case .keep:
            return .keep(
                UploadResource(
                    url: chance() ? "http://h/1" : "http://h/2", uploadProtocol: .tus, length: 9, source: "s",
                    sharesSecrets: true))
        case .sendOn: return .sendOn(from: 4)
        case .sendAgain: return .sendAgain(reason: "It forgot.")
        case .setAside: return .setAside(faults: 2)
        }
    }

    @Test(arguments: TaskState.allCases.filter { $0 != .running }, TaskLegality.Kind.allCases)
    func `A task that is not running applies or refuses each event as defined for its state`(
        _ state: TaskState, _ kind: TaskLegality.Kind
    ) {
        var random = SplitMix64(seed: 1)
        for _ in 0..<8 {
            let before = Self.record(state)
            var after = before
            let event = Self.event(kind, &random)
            let expected = TaskLegality.exit(from: state, by: kind)
            #expect(before.allows(event) == (expected != nil))
            do {
                let entries = try after.apply(event, now: Self.start)
                #expect(after.state == expected)
                #expect(TaskLegality.faults(after).isEmpty, "\(TaskLegality.faults(after))")
                #expect(entries.allSatisfy { $0.task == before.id })
            } catch {
                #expect(expected == nil)
                #expect(after == before)
            }
        }
    }

    @Test(arguments: TaskState.allCases.filter { $0 != .running })
    func `An illegal event fails an unfinished task, but does not change an ended task`(_ state: TaskState) {
        let before = Self.record(state)
        var after = before
        let fault = IllegalTransition(state: state, event: .sendAgain(reason: "a secret"))
        let entries = after.failInternally(fault, now: Self.start)
        guard !state.isTerminal else {
            #expect(after == before)
            #expect(entries.isEmpty)
            return
        }
        #expect(after.state == .failed)
        #expect(after.error?.code == .internalFault)
        #expect(after.error?.message.contains("'sendAgain'") == true)
        #expect(after.error?.message.contains("secret") == false)
        #expect(entries.map(\.decision) == [.failed])
        #expect(TaskLegality.faults(after).isEmpty, "\(TaskLegality.faults(after))")
        #expect(after.partial == before.partial)
    }

    @Test(arguments: 1...200) func `Random events never lead to an illegal task`(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var record = Self.record()
        var now = Self.start
        var decisions: [Decision] = []
        var revivals = 0
        for _ in 0..<60 {
            now.bootSeconds += 1
            now.wallSeconds += Double.random(in: -50...50, using: &random)
            let kind = TaskLegality.Kind.allCases.randomElement(using: &random) ?? .hold
            // Events that end a task are rare, so that walks are long.
            if [.cancel, .fail, .complete].contains(kind), Int.random(in: 0..<6, using: &random) > 0 { continue }
            let before = record
            let entries = try? record.apply(Self.event(kind, &random), now: now)
            #expect((entries != nil) == (TaskLegality.exit(from: before.state, by: kind) != nil))
            #expect(TaskLegality.faults(record).isEmpty, "seed \(seed), \(kind): \(TaskLegality.faults(record))")
            if entries == nil { #expect(record == before) }
            if before.state.isTerminal, entries != nil {
                #expect(before.state == .failed && [.retarget, .retry].contains(kind))
                revivals += 1
            }
            decisions += entries?.map(\.decision) ?? []
            check(before, kind, record)
        }
        let ends = decisions.count { [.completed, .failed, .cancelled].contains($0) }
        #expect(ends - revivals == (record.state.isTerminal ? 1 : 0))
    }

    /// Checks the effect of an event on counters.
    private func check(_ before: TaskRecord, _ kind: TaskLegality.Kind, _ after: TaskRecord) {
        #expect(after.restarts >= before.restarts)
        if before.state == .suspended, after.state == .waiting { #expect(after.failures == 0) }
        if kind == .hold, after.state == .waiting, before.state != .suspended {
            #expect(after.failures == 1 || after.failures == before.failures + 1 || after == before)
        }
    }

    @Test func `The remaining time stops while a task is suspended`() throws {
        var record = Self.record()
        var now = Self.start
        now.bootSeconds = 400
        _ = try record.apply(.suspend, now: now)
        #expect(record.timeLeft == 600)
        now.bootSeconds = 100_000
        _ = try record.apply(.resume, now: now)
        #expect(record.deadline == 100_600)
        now.bootSeconds = 200_000
        _ = try record.apply(.suspend, now: now)
        #expect(record.timeLeft == 0)
    }

    @Test func `B2: A new URL makes the bytes suspect, and gives a failed task its full time again`() throws {
        var record = Self.record()
        record.partial = PartialFile(path: "/p/a", bootID: "b")
        record.partial?.condition = "unusable"
        record.received = 400
        record.currentURL = "http://elsewhere/"
        record.wrongSources = [0]
        var now = Self.start
        now.bootSeconds = 990
        let expired = TransferFailure(.httpStatus, "gone", status: 410)
        _ = try record.apply(.fail(expired, file: nil, resumeData: "token"), now: now)
        var request = record.request
        _ = try record.apply(.retarget(request), now: now)
        #expect(record.state == .waiting && record.deadline == 1_890 && record.error == nil)
        #expect(record.resumeData == nil && record.endedAt == nil && record.received == 400)
        #expect(record.wrongSources.isEmpty)
        #expect(record.partial?.isOfAnotherURL == nil && record.partial?.condition == "unusable")
        request.url = "http://other/"
        let entries = try record.apply(.retarget(request), now: now)
        #expect(entries.map(\.decision) == [.retargeted])
        #expect(record.partial?.isOfAnotherURL == true && record.partial?.condition == "entityTag")
        #expect(record.currentURL == nil && record.request.url == "http://other/")
    }

    @Test func `A request from an older copy of the task keeps later changes of the task`() throws {
        var record = Self.record()
        var request = record.request
        request.url = "http://h/other"
        request.rateLimit = 5
        record.request.rateLimit = 1_000
        record.request.description = "changed"
        var answered = record
        _ = try record.apply(.retarget(request), now: Self.start)
        answered.replaceRequest(by: request)
        for task in [record, answered] {
            #expect(task.request.url == "http://h/other")
            #expect(task.request.rateLimit == 1_000 && task.request.description == "changed")
        }
    }

    @Test func `A new URL does not use the partial upload on the old URL's server`() throws {
        var record = Self.record()
        record.upload = UploadResource(
            url: "http://h/1", uploadProtocol: .tus, offset: 5, length: 9, source: "s", sharesSecrets: true)
        record.sent = 5
        var request = record.request
        _ = try record.apply(.retarget(request), now: Self.start)
        #expect(record.upload?.offset == 5 && record.sent == 5)
        request.url = "http://h/other"
        _ = try record.apply(.retarget(request), now: Self.start)
        #expect(record.upload == nil && record.sent == 0)
    }

    @Test func `B2: A complete task keeps its URL`() throws {
        var record = Self.record()
        _ = try record.apply(.finish(nil), now: Self.start)
        _ = try record.apply(
            .fail(TransferFailure(.destinationUnavailable, "no"), file: "/kept", resumeData: nil), now: Self.start)
        #expect(throws: IllegalTransition.self) { try record.apply(.retarget(record.request), now: Self.start) }
    }

    @Test func `T13: The journal records the continuation of a task from resume data once`() throws {
        var record = Self.record()
        record.continues = true
        func accept(_ offset: Int64) throws {
            _ = try record.apply(
                .accept(
                    AcceptedResponse(
                        response: ResponseSummary(status: 206, headers: [], httpVersion: "1.1"), url: "http://h/",
                        partial: PartialFile(path: "/p/a", bootID: "b"), isLarge: false, offset: offset, restart: nil)),
                now: Self.start)
        }
        try accept(400)
        try accept(700)
        #expect(record.resumedAt == 400)
        record = Self.record()
        try accept(400)
        #expect(record.resumedAt == nil)
    }

    @Test func `The requirements of a task relax twice before its deadline`() throws {
        var record = Self.record()
        #expect(record.relaxesAt == 550)
        #expect(record.rules.discretion == .full)
        let first = try record.apply(.loosen, now: Self.start)
        #expect(first.map(\.decision) == [.conditionsLoosened])
        #expect(first.first?.detail == "Half of the transfer's time limit has passed.")
        #expect(first.first?.inputs == ["discretion": "relaxed"])
        #expect(record.relaxesAt == 910)
        #expect(record.isDiscretionForced)
        let second = try record.apply(.loosen, now: Self.start)
        #expect(second.first?.detail == "Nine tenths of the transfer's time limit have passed.")
        #expect(record.rules.isEmpty)
        #expect(record.relaxesAt == nil)
        #expect(try record.apply(.loosen, now: Self.start).isEmpty)
    }

    @Test func `The time at which requirements relax moves with the deadline`() throws {
        var record = Self.record()
        var now = Self.start
        now.bootSeconds = 200
        _ = try record.apply(.suspend, now: now)
        #expect(record.relaxesAt == nil)
        now.bootSeconds = 5_000
        _ = try record.apply(.resume, now: now)
        #expect(record.deadline == 5_800)
        #expect(record.relaxesAt == 5_350)
    }

    @Test func `Lifted discretion ends, and forced discretion does not replace the task's own choice`() {
        var record = Self.record()
        record.liftDiscretion()
        #expect(record.rules.isEmpty)
        record.rules.discretion = .relaxed
        record.forceDiscretion()
        #expect(record.rules.discretion == .relaxed)
        #expect(!record.isDiscretionForced)
    }

    /// Adds an attempt that fetches `received` bytes of a file, and fails.
    private static func attempt(_ record: inout TaskRecord, received: Int64, isContinuable: Bool = true) throws {
        _ = try record.apply(.begin, now: start)
        var partial = PartialFile(path: "/p/a", bootID: "b")
        partial.entityTag = "\"a\""
        partial.condition = isContinuable ? "entityTag" : "unusable"
        record.partial = partial
        record.received = received
        let failure = TransferFailure(.connectionLost, "gone")
        _ = try record.apply(.hold(Hold(reason: .retry, failure: failure, notBefore: 5)), now: start)
    }

    @Test func `A task counts its failures in a row until it makes progress`() throws {
        var record = Self.record()
        var failures: [Int] = []
        for received: Int64 in [0, 0, 500, 500] {
            try Self.attempt(&record, received: received)
            failures.append(record.failures)
        }
        #expect(failures == [1, 2, 1, 2])
        #expect(record.lastError?.code == .connectionLost)
        #expect(record.wait?.detail == "gone")
    }

    @Test func `Discarded bytes are not progress`() throws {
        var record = Self.record()
        for _ in 0..<4 { try Self.attempt(&record, received: 500, isContinuable: false) }
        #expect(record.failures == 4 && record.fruitless == 4)
        #expect(record.wait?.detail?.contains("from byte 0") == true)
        // The first time, a file may really have changed. From then on, an attempt must get further than all attempts
        // before.
        record = Self.record()
        var failures: [Int] = []
        for round in 0..<5 {
            if round > 0 { _ = try record.apply(.sendAgain(reason: "It forgot."), now: Self.start) }
            try Self.attempt(&record, received: 500)
            failures.append(record.failures)
        }
        #expect(failures == [1, 1, 2, 3, 4])
        #expect(record.wait?.detail?.contains("repeatedly") == true)
        // One more byte is on disk. The byte does not count before a response continues after it.
        try Self.attempt(&record, received: 501)
        #expect(record.failures == 5 && record.fruitless > 0)
        _ = try record.apply(.begin, now: Self.start)
        _ = try record.apply(.sendOn(from: 501), now: Self.start)
        #expect(record.failures == 0 && record.fruitless == 0)
    }

    @Test func `An attempt that the service interrupts does not count against the task`() throws {
        var record = Self.record()
        _ = try record.apply(.begin, now: Self.start)
        #expect(record.fruitless == 1 && record.attempts == 1)
        _ = try record.apply(.interrupt(.smallerFirst), now: Self.start)
        #expect(record.fruitless == 0 && record.attempts == 1)
        // An attempt that ends with a crash of the service counts.
        _ = try record.apply(.begin, now: Self.start)
        _ = try record.apply(.begin, now: Self.start)
        #expect(record.fruitless == 2)
        record.partial = PartialFile(path: "/p/a", bootID: "b")
        record.partial?.entityTag = "\"a\""
        record.received = 10
        _ = try record.apply(.checkpoint(synced: 10), now: Self.start)
        #expect(record.fruitless == 0 && record.furthest == 10)
    }

    @Test func `A retry on request clears the failures of the task`() throws {
        var record = Self.record()
        for _ in 0..<3 { try Self.attempt(&record, received: 0) }
        let entries = try record.apply(.retry, now: Self.start)
        #expect(entries.map(\.decision) == [.retried])
        #expect(record.notBefore == nil && record.wait == nil && record.failures == 0 && record.fruitless == 0)
        #expect(record.lastError != nil)
    }

    @Test func `A retry of a failed task keeps the bytes and gives the task its full time`() throws {
        var record = Self.record()
        record.partial = PartialFile(path: "/p/a", bootID: "b")
        record.received = 400
        record.wrongSources = [1]
        let failure = TransferFailure(.httpStatus, "gone")
        _ = try record.apply(.fail(failure, file: nil, resumeData: "token"), now: Self.start)
        var now = Self.start
        now.bootSeconds += 100_000
        let entries = try record.apply(.retry, now: now)
        #expect(entries.map(\.decision) == [.retried])
        #expect(record.state == .waiting && record.endedAt == nil && record.error == nil)
        #expect(record.resumeData == nil && record.wrongSources.isEmpty)
        #expect(record.received == 400 && record.partial?.path == "/p/a")
        #expect(record.deadline == record.request.resourceTimeout.map { now.bootSeconds + $0 })
        #expect(record.lastError == failure)
    }

    @Test(arguments: [
        (TaskKind.download, "The file is being checked and moved to its destination."),
        (.upload, "The server has answered. Its response is being stored."),
    ])
    func `The journal says how a download or an upload is finished`(_ kind: TaskKind, _ detail: String) throws {
        var record = Self.record()
        record.request.kind = kind
        let entries = try record.apply(.finish(nil), now: Self.start)
        #expect(entries.map(\.decision) == [.finishing] && entries.first?.detail == detail)
    }

    @Test func `A failed task whose bytes are all stored is not retried`() throws {
        var record = Self.record()
        _ = try record.apply(.finish(nil), now: Self.start)
        _ = try record.apply(
            .fail(TransferFailure(.destinationUnavailable, "no"), file: "/kept", resumeData: nil), now: Self.start)
        #expect(throws: IllegalTransition.self) { try record.apply(.retry, now: Self.start) }
    }

    @Test func `A task counts equal waits in a row`() throws {
        var record = Self.record()
        try Self.attempt(&record, received: 0)
        #expect(record.wait.map { record.visible($0, Self.start).count } == .some(nil))
        try Self.attempt(&record, received: 0)
        #expect(record.wait.map { record.visible($0, Self.start).count } == 2)
    }

    @Test func `A checksum mismatch counts as a failure of the task`() throws {
        var record = Self.record(.finishing)
        let wrong = TransferFailure(.checksumMismatch, "wrong")
        _ = try record.apply(.fetchAgain(wrong, notBefore: 700), now: Self.start)
        #expect(record.failures == 1 && record.notBefore == 700 && record.wait?.reason == .retry)
    }

    @Test func `A task discards all bytes of the old file when it accepts a new version`() throws {
        var record = Self.record()
        record.received = 500
        record.partial = PartialFile(path: "/p/a", bootID: "b")
        let accepted = AcceptedResponse(
            response: ResponseSummary(status: 200, headers: [], httpVersion: "1.1"), url: "http://h/",
            partial: PartialFile(path: "/p/b", bootID: "b"), isLarge: false, offset: 0,
            restart: "the remote file changed")
        let entries = try record.apply(.accept(accepted), now: Self.start)
        #expect(record.received == 0)
        #expect(record.restarts == 1)
        #expect(entries.map(\.decision) == [.restarted])
    }
}
