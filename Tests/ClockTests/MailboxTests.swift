import Clock
import Synchronization
import TestSupport
import Testing

/// Tests of a mailbox whose owner executes each job in it once.
@Suite(.timeLimit(.minutes(20))) struct MailboxTests {
    private actor Owner {
        nonisolated let mailbox = Mailbox<Owner>()
        nonisolated let done = Watched<[Int]>([])
        nonisolated let cancelled = Watched<[String]>([])

        func run(beside companions: [Mailbox<Owner>.Job] = []) async {
            await mailbox.run(by: self, beside: companions)
        }

        func note(_ number: Int) {
            done.update { $0.append(number) }
        }

        func sleepUntilCancelled(_ name: String) async {
            let stream = AsyncStream<Void> { _ in }
            for await _ in stream {}
            cancelled.update { $0.append(name) }
        }
    }

    @Test func `A mailbox executes jobs that it received before it was run`() async throws {
        let owner = Owner()
        owner.mailbox.yield { await $0.note(1) }
        let run = Task { await owner.run() }
        try await owner.done.wait(for: "the first") { $0 == [1] }
        owner.mailbox.yield { await $0.note(2) }
        try await owner.done.wait(for: "the second") { $0 == [1, 2] }
        owner.mailbox.finish()
        await run.value
    }

    @Test func `A mailbox executes each job once, although many threads add jobs`() async throws {
        let owner = Owner()
        let run = Task { await owner.run() }
        await withTaskGroup { group in
            for thread in 0..<8 {
                group.addTask {
                    for number in 0..<100 { owner.mailbox.yield { await $0.note(thread * 100 + number) } }
                }
            }
        }
        try await owner.done.wait(for: "all jobs") { $0.count >= 800 }
        owner.mailbox.finish()
        await run.value
        #expect(owner.done.read { $0.sorted() } == Array(0..<800))
    }

    /// A job that waits does not block other jobs, and the mailbox runs until that job has ended.
    @Test func `A mailbox that finishes cancels its running jobs and waits for them`() async throws {
        let owner = Owner()
        let run = Task { await owner.run(beside: [{ await $0.sleepUntilCancelled("companion") }]) }
        owner.mailbox.yield { await $0.sleepUntilCancelled("job") }
        owner.mailbox.yield { await $0.note(1) }
        try await owner.done.wait(for: "the next one") { $0 == [1] }
        #expect(owner.cancelled.read { $0 } == [])
        owner.mailbox.finish()
        await run.value
        #expect(owner.cancelled.read { $0.sorted() } == ["companion", "job"])
    }

    @Test func `A mailbox drops jobs that arrive after it has finished`() async {
        let owner = Owner()
        let copy = owner.mailbox
        owner.mailbox.finish()
        copy.yield { await $0.note(1) }
        await owner.run()
        #expect(owner.done.read { $0 } == [])
    }
}
