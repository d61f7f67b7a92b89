import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// A random life of one background session, over several processes of its app. It contains the machine, a model of the
/// service, and an executor that executes the machine's actions late and in any order.
struct SessionWalk {
    /// An event or action that happens later.
    enum Pending: Equatable {
        case action(SessionAction)
        /// The answer to a request for the service's tasks; nil if the service cannot be reached.
        case listing([SessionServiceModel.Listed]?, nextNumber: Int64)
        /// The end of an acknowledgement, with the acknowledged messages, or none if the request failed.
        case acknowledged([Int64])
        case ended(Int)
        case answer(Int64)
        /// A message that was in transit when the session stopped reading.
        case late(SessionServiceModel.Message)
    }

    var random: SplitMix64
    var machine = SessionMachine()
    var service = SessionServiceModel()
    var pending: [Pending] = []
    /// The messages in transit while the session reads. Nil while it does not read.
    var stream: [SessionServiceModel.Sent]?
    /// The handled messages that are recorded on disk.
    var noted: Set<Int64> = []

    /// The number of ends that delegates were notified of, by task.
    var ends: [Int: Int] = [:]
    /// The tasks of this process whose end the app has not seen.
    var open: Set<Int> = []
    /// The tasks whose end a delegate must be notified of.
    var created: Set<Int> = []
    var lastDelivered: Int64 = 0
    var lastMessages = 0
    /// The purpose of each waiter.
    var waiters: [Int: Purpose] = [:]
    var resumed: Set<Int> = []
    /// The work that waits for the service. Each item has the task that it cancels.
    var work: [Int: Int?] = [:]
    var cancelled: Set<Int> = []
    /// The tasks that had not ended when the service refused the session.
    var owed: Set<Int>?
    var hasGivenUpBacklog = false
    /// The number of the attempt that the service's return causes, until the attempt begins.
    var attemptAtReturn: Int?
    /// The first task number to use while the service cannot be reached.
    var start: Int64 = 1_000_000

    enum Purpose {
        case caller
        /// A caller that does not wait for a service that is away.
        case fastCaller
        case closingAttachment
        case closingBacklog
    }

    /// Whether the service answers every request from now on.
    var isEnding = false
    private(set) var hasFailed = false
    let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed: seed)
        service.isReachable = chance(3, of: 4)
        apply { $0.start() }
    }

    mutating func chance(_ part: Int, of whole: Int) -> Bool { Int.random(in: 0..<whole, using: &random) < part }

    /// Records the first failure of the walk.
    mutating func fail(_ words: String) {
        if !hasFailed { Issue.record("\(words), seed \(seed)") }
        hasFailed = true
    }

    // MARK: - Inputs

    mutating func apply(_ input: (inout SessionMachine) -> [SessionAction]) {
        let before = machine
        perform(input(&machine), from: before)
    }

    mutating func perform(_ actions: [SessionAction], from before: SessionMachine) {
        check(from: before)
        if !machine.link.isDetached { attemptAtReturn = nil }
        for action in actions {
            if case .catchUp(let attempt?) = action { attemptAtReturn = attempt }
            switch action {
            case .resume(let numbers):
                for number in numbers {
                    if !resumed.insert(number).inserted { fail("a caller continues twice") }
                }
                pending.append(.action(action))
            // The core executes these actions at once.
            case .stopReading:
                if case .message(let message) = stream?.first { pending.append(.late(message)) }
                stream = nil
            case .read:
                if stream != nil { fail("two readers") }
                stream = machine.life.isOver ? nil : service.stream()
            case .fail(let numbers, _): pending += numbers.map { .ended($0) }
            case .release, .reportProgress, .reportEnd, .cancelDataTasks: break
            default: pending.append(.action(action))
            }
        }
        checkPending()
    }

    /// Checks that the machine used only the documented transitions, and that the invariants of every state hold.
    private mutating func check(from before: SessionMachine) {
        let isLegalLife =
            switch (before.life, machine.life) {
            case (let old, let new) where old == new: true
            case (.open, _), (.ending, .ended): true
            case (.closing(let wasCancelled, let wasSettled), .closing(let isCancelled, let isSettled)):
                (isCancelled || !wasCancelled) && (isSettled || !wasSettled)
            case (.closing, .ending), (.closing, .ended): true
            default: false
            }
        if !isLegalLife { fail("\(before.life) became \(machine.life)") }
        let isLegalLink =
            switch (before.link.state, machine.link.state) {
            case (let old, let new) where old == new: true
            case (.joining, .joining), (.rejoining, .rejoining), (.attached, .rejoining): true
            case (.joining, .attached), (.rejoining, .attached): true
            case (_, .refused): true
            default: false
            }
        if !isLegalLink { fail("\(before.link.state) became \(machine.link.state)") }
        if before.life.isOver, before.link.state != machine.link.state { fail("the link of an ended session changes") }
        var later = machine
        let fate = later.receive(service.lastMessage + 1, isQuestion: false, isNoted: false)
        if machine.life.isOver, fate != .ignored || machine.life.admitsCall(isLast: false) {
            fail("the delegate of a session that is over receives a message")
        }
    }

    private func count(_ isMeant: (Pending) -> Bool) -> Int { pending.filter(isMeant).count }

    private mutating func checkPending() {
        let acknowledgements = count { item in
            if case .acknowledged = item { return true }
            return item == .action(.acknowledge)
        }
        if acknowledgements > 1 { fail("two acknowledgements are scheduled") }
        let sendings = count { item in
            if case .action(.sendUnsent(after: let pause)) = item { return pause > .zero }
            return false
        }
        if sendings > 1 { fail("tasks are sent twice") }
        let works = count { item in
            if case .action(.doWork(after: let pause)) = item { return pause > .zero }
            return false
        }
        if works > 1 { fail("work is scheduled twice") }
        guard !machine.life.isOver, machine.link.isDetached else { return }
        let attempts = count { item in
            switch item {
            case .action(.attach(let attempt, _)), .action(.catchUp(let attempt?)): machine.link.isDue(attempt)
            case .listing: true
            default: false
            }
        }
        if attempts == 0 { fail("nothing attaches the session") }
        let underWay = count { item in
            if case .listing = item { return true }
            return false
        }
        if underWay > 1 || attempts - underWay > 1 { fail("two attempts are scheduled, or under way") }
        if let attempt = attemptAtReturn, !machine.link.isDue(attempt) {
            fail("the attempt at the service's return is put off")
        }
        if machine.link.isAway { checkFastCallers() }
    }

    private mutating func checkFastCallers() {
        for (number, purpose) in waiters where purpose == .fastCaller && !resumed.contains(number) {
            fail("a caller waits for a service that is away")
        }
    }

    // MARK: - Executing

    mutating func execute(_ item: Pending) {
        if usesRequests(item), pending.contains(where: isUnderWay) { return pending.append(item) }
        switch item {
        case .action(let action): execute(action)
        case .listing(let tasks, let nextNumber): listed(tasks, nextNumber)
        case .acknowledged(let ids): apply { $0.acknowledgementEnded(ids) }
        case .ended(let number): end(number)
        case .late(let message): receive(message)
        case .answer(let message):
            guard service.isReachable else { return pending.append(item) }
            if machine.life.isOver { return }
            service.answered(message)
            apply { machine in
                machine.answered(message)
                return []
            }
        }
    }

    /// Returns whether the serial queue for requests executes the item.
    private func usesRequests(_ item: Pending) -> Bool {
        switch item {
        case .action(.attach), .action(.catchUp), .action(.acknowledge), .action(.sendUnsent), .action(.doWork),
            .action(.lookFor):
            true
        default: false
        }
    }

    /// Returns whether the queue for requests is waiting for the answer to this item.
    private func isUnderWay(_ item: Pending) -> Bool {
        switch item {
        case .listing, .acknowledged: true
        default: false
        }
    }

    private mutating func execute(_ action: SessionAction) {
        switch action {
        case .attach(let attempt, _): attach(attempt)
        case .catchUp(let attempt):
            if machine.beginAcknowledging() { acknowledge() }
            if let attempt { return attach(attempt) }
            sendUnsent()
            doWork()
        case .acknowledge: acknowledge()
        case .sendUnsent(let pause):
            if pause > .zero { machine.sendingIsDue() }
            sendUnsent()
        case .doWork(let pause):
            if pause > .zero { machine.workIsDue() }
            doWork()
        case .giveUpWork(let numbers): for number in numbers { _ = finish(number) }
        case .resume(let numbers): for number in numbers { resume(number) }
        case .lookFor(let missing):
            guard service.isReachable else { return }
            for (number, id) in missing where !service.knows(id) { pending.append(.ended(number)) }
        case .endIfFinished: apply { $0.endIfFinished() }
        case .endRefused(let error):
            // The core waits for a second before it executes this action.
            let isEarly = pending.contains { if case .ended = $0 { true } else { false } }
            if isEarly { pending.append(.action(action)) } else { apply { $0.beginEnding(error) } }
        case .sendLastMessage:
            lastMessages += 1
            if lastMessages > 1 { fail("two last messages") }
            apply { $0.ended() }
        case .read, .stopReading, .fail, .release, .reportProgress, .reportEnd, .cancelDataTasks: break
        }
    }

    private mutating func attach(_ attempt: Int) {
        if attempt == attemptAtReturn { attemptAtReturn = nil }
        guard machine.beginAttaching(attempt) else { return }
        let tasks = service.isReachable ? service.list() : nil
        pending.append(.listing(tasks, nextNumber: service.nextNumber))
    }

    private mutating func listed(_ tasks: [SessionServiceModel.Listed]?, _ nextNumber: Int64) {
        guard let tasks, service.isReachable else { return lost() }
        if service.refuses {
            if !machine.life.isOver { owed = Set(machine.tasks.numbers) }
            return apply { $0.refused(URLError(.backgroundSessionInUseByAnotherProcess)) }
        }
        for task in tasks where machine.learnListed(task.id, of: task.number) {
            open.insert(task.number)
        }
        let handled = noted.max() ?? 0
        apply { $0.attached(Set(tasks.map(\.id)), nextNumber: nextNumber, handled: handled) }
    }

    mutating func lost() {
        stream = nil
        let isUnreachable = !service.isReachable
        apply { $0.lost(isUnreachable: isUnreachable) }
    }

    private mutating func acknowledge() {
        let ids = Array(machine.messages.unacknowledged.prefix(3))
        if service.isReachable { service.acknowledged(ids) }
        // If the answer is lost, the service has received the acknowledgement nevertheless.
        pending.append(.acknowledged(service.isReachable && (isEnding || !chance(1, of: 8)) ? ids : []))
    }

    private mutating func doWork() {
        for number in machine.takeWork() {
            if let task = finish(number) { cancel(task) }
        }
    }

    private mutating func finish(_ number: Int) -> Int? {
        guard let task = work.removeValue(forKey: number) else {
            fail("work is done twice")
            return nil
        }
        return task
    }

    private mutating func resume(_ number: Int) {
        switch waiters.removeValue(forKey: number) {
        case .closingAttachment: waitForBacklog()
        case .closingBacklog: settle()
        case .caller, .fastCaller, nil: break
        }
    }

    // MARK: - Tasks

    mutating func sendUnsent() {
        while let number = machine.nextUnsent {
            guard open.contains(number), !cancelled.contains(number), machine.link.refusal == nil else {
                machine.sent(number)
                continue
            }
            guard handOver(number) else { return postpone(number) }
            machine.sent(number)
        }
    }

    mutating func postpone(_ number: Int) {
        let isUnreachable = !service.isReachable
        apply { $0.postpone(number, isUnreachable: isUnreachable) }
    }

    /// Hands a task over to the service.
    ///
    /// - Returns: False if no answer has arrived.
    mutating func handOver(_ number: Int) -> Bool {
        guard service.isReachable else { return false }
        // The service already has the task, or has forgotten it.
        guard machine.tasks.id(of: number) == nil else { return true }
        let id = service.take(number)
        if chance(1, of: 6) { return false }
        machine.handedOver(number, as: id)
        return true
    }

    private mutating func end(_ number: Int) {
        if machine.end(number) {
            deliverEnd(of: number)
            machine.remove(number)
        }
        apply { $0.endIfFinished() }
    }

    private mutating func deliverEnd(of number: Int) {
        open.remove(number)
        guard !machine.life.isOver else { return }
        ends[number, default: 0] += 1
        if ends[number] != 1 { fail("task \(number) has two ends") }
    }

    // MARK: - Messages

    mutating func receiveNext() {
        guard let first = stream?.first else { return }
        stream?.removeFirst()
        machine.heard()
        switch first {
        case .caughtUp(let through):
            apply { $0.caughtUp(through: through) }
        case .message(let message):
            receive(message)
        }
    }

    private mutating func receive(_ message: SessionServiceModel.Message) {
        let isNoted = noted.contains(message.id)
        switch machine.receive(message.id, isQuestion: message.isQuestion, isNoted: isNoted) {
        case .ignored: return
        case .asked: break
        case .handled: apply { $0.acknowledge() }
        case .new: deliver(message)
        }
        apply { $0.advance(to: message.id) }
        apply { $0.endIfFinished() }
    }

    private mutating func deliver(_ message: SessionServiceModel.Message) {
        if message.id <= lastDelivered { fail("message \(message.id) comes after \(lastDelivered)") }
        if noted.contains(message.id) { fail("message \(message.id) comes twice") }
        if lastMessages > 0 { fail("message \(message.id) comes after the last one") }
        lastDelivered = message.id
        if machine.learn(message.task, of: message.number) { open.insert(message.number) }
        if message.isQuestion { return pending.append(.answer(message.id)) }
        if machine.end(message.number) { deliverEnd(of: message.number) } else { fail("\(message.number) ends again") }
        noted.insert(message.id)
        apply { $0.handled(message.id) }
        machine.remove(message.number)
    }

    // MARK: - The end

    mutating func close(cancelling: Bool) {
        machine.close(cancelling: cancelling)
        if cancelling { cancelAll() }
        if let number = machine.waitForAttachment(failsFast: false) {
            waiters[number] = .closingAttachment
        } else {
            waitForBacklog()
        }
    }

    private mutating func waitForBacklog() {
        if machine.link.refusal == nil, let number = machine.waitForBacklog() {
            waiters[number] = .closingBacklog
        } else {
            settle()
        }
    }

    mutating func settle() {
        if machine.life.isCancelled { cancelAll() }
        apply { $0.settle() }
    }

    mutating func cancelAll() { for number in open.subtracting(cancelled).sorted() { cancel(number) } }

    mutating func cancel(_ number: Int) {
        cancelled.insert(number)
        guard machine.link.refusal == nil else { return pending.append(.ended(number)) }
        guard service.isReachable else { return addWork(cancelling: number) }
        guard let id = machine.tasks.id(of: number) ?? idOfLost(number) else { return pending.append(.ended(number)) }
        let isKnown = service.knows(id)
        serve { $0.end(id) }
        // In this case, no message reports the task's end.
        if !isKnown { pending.append(.ended(number)) }
    }

    /// Returns the id of a task that the service has, although its answer was lost.
    private mutating func idOfLost(_ number: Int) -> TaskID? {
        guard service.hasNumber(number) else { return nil }
        let id = service.take(number)
        machine.handedOver(number, as: id)
        return id
    }

    /// Changes the model of the service, and adds the resulting messages to the stream.
    mutating func serve(_ change: (inout SessionServiceModel) -> Void) {
        let last = service.lastMessage
        change(&service)
        stream?.append(contentsOf: service.messages.filter { $0.id > last }.map { .message($0) })
    }

    /// Adds work that waits for the service.
    ///
    /// - Parameter task: The task to cancel.
    mutating func addWork(cancelling task: Int?) {
        let before = machine
        let (number, actions) = machine.addWork(isUnreachable: !service.isReachable)
        if let number { work[number] = .some(task) }
        perform(actions, from: before)
    }
}
