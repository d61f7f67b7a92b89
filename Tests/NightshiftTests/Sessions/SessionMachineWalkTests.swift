import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of random lives of sessions. They check rules that hold for all actions of the app, the service and the
/// threads (row T10).
@Suite struct SessionMachineWalkTests {
    @Test(.timeLimit(.minutes(20)))
    func `T10: Each task of a session ends once, and each message is delivered once`() async {
        for seed in 0..<1_500 as Range<UInt64> {
            var walk = SessionWalk(seed: seed)
            for _ in 0..<walk.length { walk.step() }
            walk.finish()
            // Tests that run at the same time wait for threads, and there are only as many threads as processors.
            await Task.yield()
        }
    }
}

extension SessionWalk {
    var length: Int { 20 + Int(seed % 7) * 40 }

    /// Makes one random event happen, or executes one pending action.
    mutating func step() {
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<4: makeTask()
        case 4..<6: resumeTask()
        case 6: if let number = open.subtracting(cancelled).sorted().randomElement(using: &random) { cancel(number) }
        case 7..<9: endTask()
        case 9: ask()
        case 10: if let task = service.list().randomElement(using: &random), chance(1, of: 4) { forget(task) }
        case 11..<13: changeService()
        case 13: if stream != nil { lost() }
        case 14: apply { $0.onReconnect() }
        case 15..<17: wait()
        case 17: if let number = waiters.keys.sorted().randomElement(using: &random) { stopWaiting(number) }
        case 18: addWork(cancelling: nil)
        case 19: leave()
        case 20..<28: receiveNext()
        default: executeAny()
        }
    }

    private mutating func makeTask() {
        guard !machine.takesNoTasks, !machine.life.isOver else { return }
        start += 1_000
        let number = machine.newTaskNumber(orFrom: start)
        if open.contains(number) { fail("the number \(number) is given twice") }
        machine.add(number)
        open.insert(number)
        created.insert(number)
        ends[number] = 0
    }

    private mutating func resumeTask() {
        guard let number = open.subtracting(cancelled).sorted().randomElement(using: &random) else { return }
        if machine.link.refusal != nil { return pending.append(.ended(number)) }
        if !machine.tasks.unsent.isEmpty || !handOver(number) { postpone(number) }
    }

    private mutating func endTask() {
        guard let task = service.list().randomElement(using: &random) else { return }
        serve { $0.end(task.id) }
    }

    private mutating func ask() {
        guard let task = service.list().randomElement(using: &random) else { return }
        serve { $0.ask(task.id) }
    }

    private mutating func forget(_ task: SessionServiceModel.Listed) {
        service.forget(task.id)
        stream?.removeAll { sent in
            if case .message(let message) = sent { return message.task == task.id }
            return false
        }
        // Only a process that knows the task can notice that it is missing.
        if machine.tasks.id(of: task.number) == nil { created.remove(task.number) }
    }

    private mutating func changeService() {
        if service.isReachable {
            service.isReachable = false
            if stream != nil { lost() }
        } else {
            service.isReachable = true
            service.refuses = chance(1, of: 12)
            apply { $0.onReconnect() }
        }
    }

    private mutating func wait() {
        let isForBacklog = chance(1, of: 2)
        let failsFast = chance(1, of: 2)
        let number = isForBacklog ? machine.waitForBacklog() : machine.waitForAttachment(failsFast: failsFast)
        if let number { waiters[number] = failsFast && !isForBacklog ? .fastCaller : .caller }
    }

    private mutating func stopWaiting(_ number: Int) {
        guard waiters[number] != .closingAttachment else { return }
        let isClosing = waiters.removeValue(forKey: number) == .closingBacklog
        machine.stopWaiting(number)
        if isClosing {
            hasGivenUpBacklog = true
            settle()
        }
    }

    /// Ends the session or the process in rare cases.
    private mutating func leave() {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: close(cancelling: chance(1, of: 2))
        case 1: restart()
        default: break
        }
    }

    /// Ends the process. Another process creates the session again.
    private mutating func restart() {
        apply { $0.abandon() }
        if machine.life != .ended { fail("an abandoned session lives") }
        if !resumed.isSuperset(of: waiters.keys) { fail("callers wait for an abandoned session") }
        // A task that failed here because of a refusal ends again in a process whose session is accepted.
        if machine.link.refusal != nil {
            for number in ends.keys where service.owesEnd(of: number, noted) { ends[number] = 0 }
        }
        created.formIntersection(created.filter(service.hasNumber))
        (machine, pending, stream, lastDelivered, lastMessages) = (SessionMachine(), [], nil, 0, 0)
        (open, cancelled, waiters, resumed, work, owed) = ([], [], [:], [], [:], nil)
        (hasGivenUpBacklog, attemptAtReturn) = (false, nil)
        apply { $0.start() }
    }

    private mutating func executeAny() {
        guard let index = pending.indices.randomElement(using: &random) else { return }
        execute(pending.remove(at: index))
    }

    /// Runs until the session has reached its last state: the service works, every task ends, and the app invalidates
    /// the session.
    mutating func finish() {
        service.isReachable = true
        service.refuses = false
        isEnding = true
        let answers = pending.filter { if case .acknowledged = $0 { true } else { false } }
        pending.removeAll { answers.contains($0) }
        for answer in answers { execute(answer) }
        apply { $0.onReconnect() }
        if machine.life == .open { close(cancelling: chance(1, of: 2)) }
        var steps = 0
        while machine.life != .ended || !pending.isEmpty {
            steps += 1
            guard steps < 20_000 else { return fail("the session does not end: \(machine), \(pending)") }
            for task in service.list() { serve { $0.end(task.id) } }
            cancelUnknown()
            // The session notices a removed task when the service lists its tasks once more.
            if steps == 2_000 { lost() }
            receiveNext()
            executeAny()
        }
        checkEnd()
    }

    /// Cancels the tasks that the service does not have. The other tasks end without the app.
    private mutating func cancelUnknown() {
        for number in open.subtracting(cancelled).sorted() where machine.tasks.id(of: number) == nil { cancel(number) }
    }

    private mutating func checkEnd() {
        // A session that ended because of a refusal has left the other tasks to the process that has the session.
        var due = owed ?? created
        // A session that stopped waiting leaves its messages to a later process.
        if hasGivenUpBacklog { due = due.filter { !service.owesEnd(of: $0, noted) } }
        for number in due.sorted() where ends[number] != 1 { fail("task \(number) has \(ends[number] ?? 0) ends") }
        if lastMessages != 1 { fail("\(lastMessages) last messages") }
        if !waiters.isEmpty { fail("callers wait for ever") }
        if !work.isEmpty { fail("work waits for ever") }
        if !machine.messages.unacknowledged.isEmpty && owed == nil { fail("messages stay unacknowledged") }
    }
}
