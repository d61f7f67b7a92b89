import Foundation
import NightshiftAPI

/// The state machine of a background session: what this process knows of the service, its tasks and its messages, and
/// what it does next.
///
/// Inputs are methods. They return actions, which ``SessionCore`` executes. Other threads may bring inputs before an action is executed:
/// whatever an action begins asks the machine first.
///
/// ``life`` and ``link`` have documented exits and are independent of each other. A session that is over takes no message, attaches to
/// nothing and begins nothing; it still acknowledges what its delegate has handled.
struct SessionMachine: Sendable {
    private struct Waiter: Sendable {
        enum Event: Sendable {
            /// - failsFast: whether it does not wait for a service that is away.
            case attachment(failsFast: Bool)
            case backlog
        }

        var number: Int
        var event: Event

        var isForBacklog: Bool {
            if case .backlog = event { return true }
            return false
        }

        var failsFast: Bool {
            if case .attachment(failsFast: true) = event { return true }
            return false
        }
    }

    private(set) var life = SessionLife.open
    private(set) var link = SessionLink()
    private(set) var messages = SessionMessages()
    private(set) var tasks = SessionTasks()
    private var waiters: [Waiter] = []
    /// Work that waits for the service, the oldest first.
    private var work: [Int] = []
    /// The last number of a waiter or of work.
    private var lastNumber = 0
    private var isSendingScheduled = false
    private var isWorkScheduled = false

    /// Pauses before a service that was only slow hears of tasks and of other work again.
    private static let sendingPause: Duration = .seconds(1)
    private static let workPause: Duration = .milliseconds(100)

    /// Whether the service hears nothing more of the session's tasks.
    private var hasNoService: Bool { life.isOver || link.refusal != nil }

    /// Whether the app may not make tasks: it has invalidated the session itself.
    var takesNoTasks: Bool { link.refusal == nil && life != .open }

    private mutating func newNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: - The link to the service

    mutating func start() -> [SessionAction] { [.attach(attempt: link.schedule(), after: .zero)] }

    /// - Returns: whether to make this attempt to attach.
    mutating func beginAttaching(_ attempt: Int) -> Bool {
        guard !life.isOver, link.begin(attempt) else { return false }
        tasks.beginListing()
        return true
    }

    /// The service knows that the session is here.
    ///
    /// - Parameters:
    ///   - ids: the tasks that the service has.
    ///   - nextNumber: the number of the next task, as far as the service knows.
    ///   - handled: the last message that the delegate has had, as far as the disk knows.
    mutating func attached(_ ids: Set<TaskID>, nextNumber: Int64, handled: Int64) -> [SessionAction] {
        guard !life.isOver, link.isDetached else { return [] }
        link.attached()
        tasks.endListing(ids, nextNumber: nextNumber)
        messages.advance(to: handled)
        return resume { !$0.isForBacklog } + [.read] + acknowledge()
            + [.sendUnsent(after: .zero), .doWork(after: .zero), .reportProgress]
    }

    /// An attempt to attach has failed, or messages have stopped coming.
    mutating func lost(isUnreachable: Bool) -> [SessionAction] {
        guard !life.isOver, link.refusal == nil else { return [] }
        let next = link.lost(isUnreachable: isUnreachable)
        let actions = isUnreachable ? resume(\.failsFast) : []
        return actions + (next.map { [.attach(attempt: $0.attempt, after: $0.pause)] } ?? [])
    }

    /// The service has sent something.
    mutating func heard() { link.heard() }

    /// The service can be reached (again).
    mutating func serviceIsBack() -> [SessionAction] {
        let attempt = life.isOver ? nil : link.serviceIsBack()
        return [.catchUp(attempt: attempt)]
    }

    /// The service does not accept the session here: its tasks fail, then it ends.
    mutating func refused(_ error: URLError) -> [SessionAction] {
        guard !life.isOver, link.refuse(error) else { return [] }
        return [.stopReading] + resume { !$0.isForBacklog } + giveUpWork()
            + [.fail(tasks.numbers, error), .cancelDataTasks, .endRefused(error)]
    }

    /// Whether messages of the service are wanted.
    var isReading: Bool { !life.isOver && link.state == .attached }

    // MARK: - Waiting

    /// - Parameter failsFast: whether not to wait for a service that is away.
    /// - Returns: the number of a new waiter; nil where there is nothing to wait for.
    mutating func waitForAttachment(failsFast: Bool) -> Int? {
        guard !life.isOver, link.isJoining, !(failsFast && link.isAway) else { return nil }
        return wait(for: .attachment(failsFast: failsFast))
    }

    /// - Returns: the number of a new waiter for the messages from before this process; nil where there is nothing to wait for.
    mutating func waitForBacklog() -> Int? {
        guard !life.isOver, !messages.isCaughtUp else { return nil }
        return wait(for: .backlog)
    }

    private mutating func wait(for event: Waiter.Event) -> Int {
        let number = newNumber()
        waiters.append(Waiter(number: number, event: event))
        return number
    }

    /// A waiter has waited long enough.
    mutating func stopWaiting(_ number: Int) { waiters.removeAll { $0.number == number } }

    private mutating func resume(_ isMeant: (Waiter) -> Bool) -> [SessionAction] {
        let numbers = waiters.filter(isMeant).map(\.number)
        waiters.removeAll(where: isMeant)
        return numbers.isEmpty ? [] : [.resume(numbers)]
    }

    /// Work has to wait for the service.
    ///
    /// - Returns: its number, nil where the session is over and the work to be given up.
    mutating func addWork(isUnreachable: Bool) -> (number: Int?, actions: [SessionAction]) {
        if hasNoService { return (nil, []) }
        let number = newNumber()
        work.append(number)
        // A service that is away causes the work to be done when it returns.
        guard !isUnreachable, !isWorkScheduled else { return (number, []) }
        isWorkScheduled = true
        return (number, [.doWork(after: Self.workPause)])
    }

    /// The pause before work is over.
    mutating func workIsDue() { isWorkScheduled = false }

    mutating func takeWork() -> [Int] {
        defer { work = [] }
        return work
    }

    private mutating func giveUpWork() -> [SessionAction] {
        let numbers = takeWork()
        return numbers.isEmpty ? [] : [.giveUpWork(numbers)]
    }

    // MARK: - Tasks

    /// The number of a new task.
    ///
    /// - Parameter start: where numbers begin while the service has not said it.
    mutating func newTaskNumber(orFrom start: Int64) -> Int { tasks.newNumber(orFrom: start) }

    /// The app has made a task.
    mutating func add(_ number: Int) { tasks.add(number) }

    mutating func addDataTask(_ number: Int) { tasks.addDataTask(number) }

    /// The service has a task under this id.
    ///
    /// - Returns: whether this process did not have it.
    mutating func learn(_ id: TaskID, of number: Int) -> Bool { tasks.learn(id, of: number) }

    /// The service lists a task under this id. To be called before ``attached(_:nextNumber:handled:)``.
    ///
    /// - Returns: whether this process has to make it.
    mutating func learnListed(_ id: TaskID, of number: Int) -> Bool {
        !life.isOver && tasks.learnListed(id, of: number)
    }

    /// The service has taken a task over.
    mutating func handedOver(_ number: Int, as id: TaskID) { tasks.handedOver(number, as: id) }

    /// - Returns: whether the delegate has yet to hear of the end of a task, which it does now.
    mutating func end(_ number: Int) -> Bool { tasks.end(number) }

    /// The delegate has heard of the end of a task.
    mutating func remove(_ number: Int) { tasks.remove(number) }

    mutating func removeDataTask(_ number: Int) -> [SessionAction] {
        tasks.removeDataTask(number)
        return [.endIfFinished]
    }

    /// The service could not hear of a task.
    mutating func postpone(_ number: Int, isUnreachable: Bool) -> [SessionAction] {
        tasks.postpone(number)
        // A service that is away hears of it when it returns. This is for one that was only slow.
        guard !isUnreachable, !isSendingScheduled else { return [] }
        isSendingScheduled = true
        return [.sendUnsent(after: Self.sendingPause)]
    }

    /// The pause before tasks are sent is over.
    mutating func sendingIsDue() { isSendingScheduled = false }

    /// The task that the service hears of next.
    var nextUnsent: Int? { life.isOver ? nil : tasks.unsent.first }

    /// The service has heard of a task, or need not.
    mutating func sent(_ number: Int) { tasks.sent(number) }

    // MARK: - Messages

    /// - Parameters:
    ///   - isQuestion: whether an answer takes the place of its acknowledgement.
    ///   - isNoted: whether the disk says that the delegate has had it.
    mutating func receive(_ message: Int64, isQuestion: Bool, isNoted: Bool) -> SessionMessages.Fate {
        life.isOver ? .ignored : messages.receive(message, isQuestion: isQuestion, isNoted: isNoted)
    }

    /// The delegate's methods for a message have returned.
    mutating func handled(_ message: Int64) -> [SessionAction] {
        messages.handle(message)
        return acknowledge()
    }

    /// Everything up to a message has reached the delegate.
    mutating func advance(to message: Int64) -> [SessionAction] {
        messages.advance(to: message)
        return [.reportProgress]
    }

    /// The service has the answer to a question.
    mutating func answered(_ message: Int64) { messages.answer(message) }

    /// Every message from before this process has come. Those that are missing up to this one were handled before.
    mutating func caughtUp(through message: Int64) -> [SessionAction] {
        messages.catchUp(to: message)
        let missing = tasks.takeMissing()
        return resume(\.isForBacklog) + (missing.isEmpty ? [] : [.lookFor(missing)]) + [.reportProgress]
    }

    /// Has the service hear of handled messages, as many at once as have come together.
    mutating func acknowledge() -> [SessionAction] { messages.beginAcknowledging() ? [.acknowledge] : [] }

    /// - Returns: whether to acknowledge now, on the queue for requests.
    mutating func beginAcknowledging() -> Bool { messages.beginAcknowledging() }

    /// The acknowledgement that was scheduled is over.
    ///
    /// - Parameter messages: the ones that the service has heard of, none where it failed.
    mutating func acknowledgementEnded(_ messages: [Int64]) -> [SessionAction] {
        self.messages.endAcknowledging()
        return acknowledged(messages)
    }

    /// The service has heard of these messages.
    mutating func acknowledged(_ messages: [Int64]) -> [SessionAction] {
        guard !messages.isEmpty else { return [] }
        self.messages.acknowledge(messages)
        return acknowledge()
    }

    // MARK: - The end

    /// The app invalidates the session.
    mutating func close(cancelling: Bool) { life.close(cancelling: cancelling) }

    /// The session knows the tasks of earlier processes, or has waited for them long enough.
    mutating func settle() -> [SessionAction] {
        life.settle()
        return [.endIfFinished]
    }

    mutating func endIfFinished() -> [SessionAction] {
        life.mayEnd && tasks.isEmpty ? beginEnding(nil) : []
    }

    /// The session ends now, whatever it has.
    mutating func beginEnding(_ error: URLError?) -> [SessionAction] {
        guard life.beginEnding() else { return [] }
        return [.stopReading] + giveUpWork() + [.sendLastMessage(error)]
    }

    /// The delegate has its last message.
    mutating func ended() -> [SessionAction] {
        guard life == .ending else { return [] }
        life.end()
        return [.release] + resume { _ in true } + [.reportEnd] + acknowledge()
    }

    /// The process lets go of the session: nothing more is read or delivered.
    mutating func abandon() -> [SessionAction] {
        guard life != .ended else { return [] }
        life.end()
        return [.stopReading, .release] + resume { _ in true }
    }
}
