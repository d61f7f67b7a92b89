import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct FollowedTasksTests {
    @Test func `Journal entries update the state of a followed task`() throws {
        var tasks = FollowedTasks()
        tasks.add(FollowedTask(id: 12, kind: .download, name: "x"))
        #expect(tasks.apply(Samples.entry(1, .started, task: 12)) == .nothing)
        #expect(tasks.active == [12])
        tasks.apply(
            TaskProgress(
                id: 12, countOfBytesReceived: 5, countOfBytesExpectedToReceive: 10, countOfBytesSent: 0,
                countOfBytesExpectedToSend: 3, bytesPerSecond: 2))
        #expect(tasks.pending[12]?.done == 5 && tasks.pending[12]?.total == 10)
        var held = Samples.entry(2, .held, task: 12)
        held.wait = Wait(reason: .network, since: Samples.now)
        held.error = TransferFailure(.connectionLost, "gone")
        #expect(tasks.apply(held) == .nothing)
        #expect(tasks.active.isEmpty)
        #expect(tasks.pending[12]?.wait?.reason == .network)
        #expect(tasks.pending[12]?.lastError?.code == .connectionLost)
        #expect(tasks.pending[12]?.bytesPerSecond == 0)
        #expect(tasks.apply(Samples.entry(3, .continued, task: 12)) == .nothing)
        #expect(tasks.pending[12]?.done == 5)
        #expect(tasks.apply(Samples.entry(4, .restarted, task: 12)) == .nothing)
        #expect(tasks.pending[12]?.done == 0)
        #expect(tasks.apply(Samples.entry(5, .completed, task: 12)) == .status(12))
        #expect(tasks.pending[12] != nil)
        #expect(tasks.update(Samples.completed(12)) == true)
        #expect(tasks.update(Samples.completed(12)) == false)
        #expect(tasks.completed == 1 && tasks.failed == 0 && tasks.pending.isEmpty && tasks.count == 1)
    }

    @Test func `T4: A task with progress counts as running before the journal reports its start`() {
        var tasks = FollowedTasks()
        tasks.add(FollowedTask(id: 12, kind: .download, name: "x"))
        let progress = TaskProgress(
            id: 12, countOfBytesReceived: 0, countOfBytesExpectedToReceive: -1, countOfBytesSent: 0,
            countOfBytesExpectedToSend: 0, bytesPerSecond: 0)
        tasks.apply(progress)
        #expect(tasks.pending[12]?.state == .running && tasks.active == [12])
        _ = tasks.apply(Samples.entry(2, .suspended, task: 12))
        tasks.apply(progress)
        #expect(tasks.pending[12]?.state == .suspended && tasks.active.isEmpty)
    }

    @Test func `The client ignores events of other tasks unless it follows new tasks`() {
        var tasks = FollowedTasks()
        #expect(tasks.apply(Samples.entry(1, .accepted, task: 99)) == .nothing)
        #expect(tasks.update(Samples.running(99)) == false)
        #expect(tasks.count == 0)
        tasks.includesNewTasks = true
        #expect(tasks.apply(Samples.entry(1, .accepted, task: 99)) == .status(99))
        #expect(tasks.update(Samples.running(99)) == false)
        #expect(tasks.pending.keys.contains(99) && tasks.active == [99])
    }

    @Test func `The client asks the service for wait reasons that no event contained`() {
        var tasks = FollowedTasks()
        for id: Int64 in 1...6 { tasks.add(FollowedTask(id: TaskID(id), kind: .download, name: "x")) }
        _ = tasks.apply(Samples.entry(1, .started, task: 1))
        func hold(_ id: Int64, _ reason: WaitReason, until: Double?) {
            var held = Samples.entry(1 + id, .held, task: id)
            held.wait = Wait(
                reason: reason, since: Samples.now, until: until.map { Samples.now.addingTimeInterval($0) })
            _ = tasks.apply(held)
        }
        hold(3, .retry, until: 5)
        hold(4, .retry, until: 0)
        hold(5, .network, until: nil)
        hold(6, .hostBackoff, until: nil)
        #expect(tasks.unexplained(at: Samples.now, limit: 6).map(\.id) == [2, 4, 6])
        #expect(tasks.unexplained(at: Samples.now, limit: 5).isEmpty)
    }

    @Test func `The client ignores a response that is older than an event`() throws {
        var tasks = FollowedTasks()
        tasks.add(FollowedTask(id: 13, kind: .download, name: "x"))
        let asked = try #require(tasks.unexplained(at: Samples.now, limit: 9).first)
        let answer = Samples.heldByHost(13)
        var overtaken = tasks
        _ = overtaken.apply(Samples.entry(1, .started, task: 13))
        let unchanged = overtaken.explain(asked, answer)
        #expect(unchanged == nil && overtaken.active == [13])

        let explained = tasks.explain(asked, answer)
        let learned = try #require(explained)
        #expect(learned.wait?.reason == .hostBackoff && learned.failure?.code == .cannotResolveHost)
        #expect(tasks.pending[13]?.wait == answer.wait)
        // The same answer again does not count as a change.
        let again = tasks.explain(learned, answer)
        #expect(again == nil)
    }

    @Test func `A removed task does not count as completed`() {
        var tasks = FollowedTasks()
        tasks.add(FollowedTask(id: 1, kind: .download, name: "x"))
        #expect(tasks.apply(Samples.entry(1, .removed, task: 1)) == .nothing)
        #expect(tasks.failed == 1 && tasks.pending.isEmpty)
    }

    /// Every task counts once, and only pending tasks transfer bytes, for any order of events.
    @Test(arguments: 0..<100 as Range<UInt64>)
    func `The counts of tasks stay correct for any order of events`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var tasks = FollowedTasks()
        let ids = (1...6).map { TaskID(Int64($0)) }
        for id in ids.prefix(4) { tasks.add(FollowedTask(id: id, kind: .download, name: "t")) }
        for step in 0..<200 {
            let id = ids[random.below(ids.count)]
            switch random.below(4) {
            case 0:
                tasks.apply(
                    TaskProgress(
                        id: id, countOfBytesReceived: 1, countOfBytesExpectedToReceive: 2, countOfBytesSent: 0,
                        countOfBytesExpectedToSend: 0, bytesPerSecond: 1))
            case 1 where step > 100:
                _ = tasks.update(random.below(2) == 0 ? Samples.completed(id.rawValue) : Samples.failed(id.rawValue))
            case 1: _ = tasks.update(Samples.running(id.rawValue))
            default:
                let decision = Decision.allCases[random.below(Decision.allCases.count)]
                _ = tasks.apply(Samples.entry(Int64(step), decision, task: id.rawValue))
            }
            #expect(tasks.count == 4, "seed \(seed)")
            #expect(tasks.active.isSubset(of: tasks.pending.keys), "seed \(seed)")
        }
    }
}

extension TaskID: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int64) {
        self.init(value)
    }
}
