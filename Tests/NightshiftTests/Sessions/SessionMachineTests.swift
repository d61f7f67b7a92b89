import Foundation
import NightshiftAPI
import Testing

@testable import Nightshift

/// Tests of the state machine of a session, input by input (rows T6, T8, T10 and T12).
@Suite struct SessionMachineTests {
    private let refusal = URLError(.backgroundSessionInUseByAnotherProcess)

    /// Returns an attached machine, with tasks that the service has.
    private func attached(_ ids: [Int64] = []) -> SessionMachine {
        var machine = SessionMachine()
        _ = machine.start()
        _ = machine.beginAttaching(1)
        for id in ids { _ = machine.learnListed(TaskID(id), of: Int(id)) }
        _ = machine.attached(Set(ids.map { TaskID($0) }), nextNumber: 100, handled: 0)
        return machine
    }

    /// Compares values, because `#expect` does not accept expressions that mutate a value.
    private func check<Value: Equatable>(
        _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(value == expected, sourceLocation: sourceLocation)
    }

    private func check(_ claim: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(claim, sourceLocation: sourceLocation)
    }

    // MARK: - The link

    @Test func `T8: Pauses between attempts grow from 20 ms to 5 s, and start again after a message`() {
        var machine = SessionMachine()
        var actions = machine.start()
        var pauses: [Duration] = []
        while case .attach(let attempt, let pause) = actions.last, pauses.count < 12 {
            pauses.append(pause)
            check(machine.beginAttaching(attempt))
            actions = machine.lost(isUnreachable: false)
        }
        let expected: [Double] = [0, 0, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_000, 5_000]
        check(pauses, expected.map { .milliseconds($0) })
        machine.heard()
        _ = machine.beginAttaching(pauses.count + 1)
        check(machine.lost(isUnreachable: false), [.attach(attempt: pauses.count + 2, after: .zero)])
    }

    /// In an earlier version, each failure after a return of the service left one more timer, and each timer made
    /// attempts for ever.
    @Test func `T8: When the service returns, an immediate attempt replaces the waiting one`() {
        var machine = SessionMachine()
        _ = machine.start()
        check(machine.beginAttaching(1))
        check(machine.lost(isUnreachable: true), [.attach(attempt: 2, after: .zero)])
        check(machine.onReconnect(), [.catchUp(attempt: 3)])
        check(machine.onReconnect(), [.catchUp(attempt: nil)])
        check(!machine.beginAttaching(2))
        check(machine.beginAttaching(3))
        check(!machine.beginAttaching(3))
        check(machine.lost(isUnreachable: true), [.attach(attempt: 4, after: .milliseconds(20))])
    }

    @Test func `T8: If the service returns during an attempt, the next attempt follows at once`() {
        var machine = SessionMachine()
        _ = machine.start()
        _ = machine.beginAttaching(1)
        _ = machine.lost(isUnreachable: true)
        check(machine.beginAttaching(2))
        check(machine.onReconnect(), [.catchUp(attempt: 3)])
        // The attempt that was scheduled meanwhile remains the next.
        check(machine.lost(isUnreachable: false), [])
        check(machine.beginAttaching(3))
    }

    @Test func `T8: A session that loses its connection attaches again`() {
        var machine = attached()
        check(!machine.beginAttaching(1))
        check(machine.lost(isUnreachable: false), [.attach(attempt: 2, after: .zero)])
        check(machine.link.state, .rejoining(isAway: false))
        check(machine.beginAttaching(2))
        let actions = machine.attached([], nextNumber: 100, handled: 0)
        check(actions.contains(.read) && machine.isReading)
    }

    @Test func `T12: A refusal fails the tasks, drops pending work and ends the session`() {
        var machine = attached([1, 2])
        let (work, _) = machine.addWork(isUnreachable: true)
        check(
            machine.refused(refusal),
            [.stopReading, .giveUpWork([work ?? 0]), .fail([1, 2], refusal), .cancelDataTasks, .endRefused(refusal)])
        check(machine.refused(refusal) == [] && machine.lost(isUnreachable: false) == [])
        check(machine.addWork(isUnreachable: false).number, nil)
        check(machine.waitForAttachment(failsFast: false), nil)
        // The app's next task fails with the refusal. Only a session that the app has invalidated refuses to create
        // tasks.
        check(!machine.takesNoTasks)
        check(machine.beginEnding(refusal), [.stopReading, .sendLastMessage(refusal)])
        check(machine.life, .ending)
    }

    // MARK: - Waiting

    @Test func `T8: Only callers that fail fast do not wait for an absent service`() {
        var machine = SessionMachine()
        _ = machine.start()
        let fast = machine.waitForAttachment(failsFast: true)
        let patient = machine.waitForAttachment(failsFast: false)
        let stopped = machine.waitForAttachment(failsFast: false)
        let backlog = machine.waitForBacklog()
        check(Set([fast, patient, stopped, backlog]).count, 4)
        machine.stopWaiting(stopped ?? 0)
        _ = machine.beginAttaching(1)
        check(machine.lost(isUnreachable: true).first, .resume([fast ?? 0]))
        check(machine.waitForAttachment(failsFast: true), nil)
        _ = machine.beginAttaching(2)
        check(machine.attached([], nextNumber: 1, handled: 0).first, .resume([patient ?? 0]))
        check(machine.waitForAttachment(failsFast: false), nil)
        check(machine.caughtUp(through: 0).first, .resume([backlog ?? 0]))
        check(machine.waitForBacklog(), nil)
    }

    @Test func `T8: Each piece of work has a timer while the service is slow, but not while it is absent`() {
        var machine = attached()
        let (first, soon) = machine.addWork(isUnreachable: false)
        let (second, none) = machine.addWork(isUnreachable: false)
        check(soon == [.doWork(after: .milliseconds(100))] && none == [])
        machine.workIsDue()
        check(machine.takeWork() == [first, second] && machine.takeWork() == [])
        let (_, later) = machine.addWork(isUnreachable: true)
        check(later, [])
    }

    // MARK: - Tasks

    @Test func `T6: Task numbers begin with the service's number and never decrease`() {
        var machine = SessionMachine()
        check(machine.newTaskNumber(orFrom: 5_000), 5_000)
        _ = machine.start()
        _ = machine.beginAttaching(1)
        _ = machine.attached([], nextNumber: 7, handled: 0)
        check(machine.newTaskNumber(orFrom: 9_000), 5_001)
        var other = attached()
        check(other.newTaskNumber(orFrom: 5_000), 100)
    }

    @Test func `T6: A task ends once`() {
        var machine = attached([1])
        check(machine.end(1))
        check(!machine.end(1))
        machine.remove(1)
        check(!machine.end(1) && machine.tasks.number(of: TaskID(1)) == nil)
    }

    /// In an earlier version, the session created the task a second time and never ended.
    @Test func `T6: A task that ends while the service lists it is not created again`() {
        var machine = attached([1, 2])
        _ = machine.lost(isUnreachable: false)
        check(machine.beginAttaching(2))
        check(machine.end(1))
        machine.remove(1)
        check(!machine.learnListed(TaskID(1), of: 1))
        check(!machine.learnListed(TaskID(2), of: 2))
        check(machine.learnListed(TaskID(3), of: 3))
        _ = machine.attached([TaskID(1), TaskID(2), TaskID(3)], nextNumber: 100, handled: 0)
        check(machine.tasks.numbers, [2, 3])
    }

    @Test func `T6: The session asks about tasks that are neither listed nor reported as ended`() {
        var machine = attached([1, 2, 3])
        machine.add(4)
        _ = machine.lost(isUnreachable: false)
        _ = machine.beginAttaching(2)
        _ = machine.learnListed(TaskID(3), of: 3)
        _ = machine.attached([TaskID(3)], nextNumber: 100, handled: 0)
        // This is the message about the end of task 1.
        check(machine.end(1))
        machine.remove(1)
        check(machine.caughtUp(through: 9), [.lookFor([2: TaskID(2)]), .reportProgress])
        check(machine.caughtUp(through: 9), [.reportProgress])
    }

    @Test func `T6: The session sends unsent tasks in their order, with one timer`() {
        var machine = attached()
        for number in 1...3 { machine.add(number) }
        check(machine.postpone(2, isUnreachable: true), [])
        check(machine.postpone(1, isUnreachable: false), [.sendUnsent(after: .seconds(1))])
        check(machine.postpone(2, isUnreachable: false), [])
        check(machine.tasks.unsent == [2, 1] && machine.tasks.numbersToHandOver == [1, 2, 3])
        machine.sendingIsDue()
        machine.sent(2)
        check(machine.nextUnsent, 1)
        machine.remove(1)
        check(machine.nextUnsent, nil)
    }

    // MARK: - Messages

    @Test func `T10: The session delivers a message once, and acknowledges each repetition of it`() {
        var machine = attached([1])
        check(machine.receive(5, isQuestion: false, isNoted: false), .new)
        check(machine.handled(5), [.acknowledge])
        check(machine.handled(6), [])
        check(machine.acknowledgementEnded([5]), [.acknowledge])
        check(machine.receive(5, isQuestion: false, isNoted: false), .handled)
        check(machine.receive(7, isQuestion: false, isNoted: true), .handled)
        check(machine.messages.unacknowledged, [6, 5, 7])
        // After a failed acknowledgement, the machine repeats nothing at once.
        check(machine.acknowledgementEnded([]), [])
        check(machine.acknowledge(), [.acknowledge])
    }

    @Test func `T10: The session does not ask again while a question waits for its answer`() {
        var machine = attached([1])
        check(machine.receive(5, isQuestion: true, isNoted: false), .new)
        check(machine.receive(5, isQuestion: true, isNoted: false), .asked)
        machine.answered(5)
        check(machine.receive(5, isQuestion: true, isNoted: false), .handled)
    }

    // MARK: - The end

    @Test func `T12: An invalidated session ends after its last task, once it knows its earlier tasks`() {
        var machine = attached([1])
        machine.addDataTask(50)
        machine.close(cancelling: false)
        check(machine.takesNoTasks && machine.endIfFinished() == [])
        check(machine.settle(), [.endIfFinished])
        machine.remove(1)
        check(machine.endIfFinished(), [])
        check(machine.removeDataTask(50), [.endIfFinished])
        check(machine.life.admitsCall(isLast: false))
        check(machine.endIfFinished(), [.stopReading, .sendLastMessage(nil)])
        check(machine.endIfFinished() == [] && !machine.life.admitsCall(isLast: false))
        check(machine.life.admitsCall(isLast: true))
        check(machine.receive(9, isQuestion: false, isNoted: false), .ignored)
        let waiter = machine.waitForBacklog()
        check(waiter == nil && machine.ended() == [.release, .reportEnd] && machine.ended() == [])
        check(machine.life == .ended && !machine.life.admitsCall(isLast: true))
    }

    @Test func `T12: A settled session that is finishing its tasks can still be cancelled`() {
        var machine = attached()
        machine.close(cancelling: false)
        _ = machine.settle()
        machine.close(cancelling: true)
        check(machine.life, .closing(isCancelled: true, isSettled: true))
        machine.close(cancelling: false)
        check(machine.life.isCancelled && machine.life.mayEnd)
    }

    @Test func `T12: An abandoned session starts no work`() {
        var machine = SessionMachine()
        _ = machine.start()
        let waiter = machine.waitForAttachment(failsFast: false)
        check(machine.beginAttaching(1))
        check(machine.abandon(), [.stopReading, .release, .resume([waiter ?? 0])])
        check(machine.abandon(), [])
        check(machine.attached([], nextNumber: 1, handled: 0) == [] && !machine.isReading)
        check(machine.lost(isUnreachable: true) == [] && machine.refused(refusal) == [])
        check(machine.onReconnect(), [.catchUp(attempt: nil)])
        check(!machine.learnListed(TaskID(1), of: 1) && machine.beginEnding(nil) == [])
    }
}
