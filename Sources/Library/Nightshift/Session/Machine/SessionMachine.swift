import Foundation
import NightshiftAPI

/// The state machine of a background session. It knows the state of the service, its tasks and its messages, as far as
/// this process has received it, and decides what the session does next.
///
/// Inputs are methods. They return actions, which ``SessionCore`` executes. Other threads may send inputs before an
/// action is executed, so every action that starts something asks the machine first.
///
/// ``life`` and ``link`` have documented exits and are independent of each other. A session that is over accepts no
/// message, does not attempt to attach, and begins no work. It still acknowledges messages that its delegate has
/// handled.
struct SessionMachine: Sendable {
    /// The event that a caller waits for.
    private enum Event: Equatable {
        /// - failsFast: Whether the caller stops waiting when the service cannot be reached.
        case attachment(failsFast: Bool)
        case backlog
    }

    private(set) var life = SessionLife.open
    private(set) var link = SessionLink()
    private(set) var messages = SessionMessages()
    private(set) var tasks = SessionTasks()
    private var waiters = Waiters<Event>()
    /// The work that waits for the service.
    private var work = Waiters<Void>()
    private var isSendingScheduled = false
    private var isWorkScheduled = false

    /// The pauses before the next attempt to send tasks or to do other work, if the service was slow but reachable.
    private static let sendingPause: Duration = .seconds(1)
    private static let workPause: Duration = .milliseconds(100)

    /// Whether the session has stopped sending requests about its tasks to the service.
    private var hasNoService: Bool { life.isOver || link.refusal != nil }

    /// Whether the app can no longer make tasks, because it has invalidated the session itself.
    var takesNoTasks: Bool { link.refusal == nil && life != .open }

    // MARK: - The link to the service

    mutating func start() -> [SessionAction] { [.attach(attempt: link.schedule(), after: .zero)] }

    /// Begins an attempt to attach, if it is still wanted.
    ///
    /// - Returns: Whether to make this attempt.
    mutating func beginAttaching(_ attempt: Int) -> Bool {
        guard !life.isOver, link.begin(attempt) else { return false }
        tasks.beginListing()
        return true
    }

    /// Handles a successful attachment: the service knows that the session exists in this process.
    ///
    /// - Parameters:
    ///   - ids: The ids of the tasks that the service has.
    ///   - nextNumber: The number of the next task, as far as the service knows.
    ///   - handled: The last message that the delegate has received, according to the file on disk.
    mutating func attached(_ ids: Set<TaskID>, nextNumber: Int64, handled: Int64) -> [SessionAction] {
        guard !life.isOver, link.isDetached else { return [] }
        link.attached()
        tasks.endListing(ids, nextNumber: nextNumber)
        messages.advance(to: handled)
        return resume { $0 != .backlog } + [.read] + acknowledge()
            + [.sendUnsent(after: .zero), .doWork(after: .zero), .reportProgress]
    }

    /// Handles a failed attempt to attach, or the loss of the message stream.
    mutating func lost(isUnreachable: Bool) -> [SessionAction] {
        guard !life.isOver, link.refusal == nil else { return [] }
        let next = link.lost(isUnreachable: isUnreachable)
        let actions = isUnreachable ? resume { $0 == .attachment(failsFast: true) } : []
        return actions + (next.map { [.attach(attempt: $0.attempt, after: $0.pause)] } ?? [])
    }

    /// Handles an event from the service by resetting the pause between attempts.
    mutating func heard() { link.heard() }

    /// Handles the return of the service, or its first start.
    mutating func onReconnect() -> [SessionAction] {
        let attempt = life.isOver ? nil : link.onReconnect()
        return [.catchUp(attempt: attempt)]
    }

    /// Handles the service's refusal of the session: its tasks fail, then it ends.
    mutating func refused(_ error: URLError) -> [SessionAction] {
        guard !life.isOver, link.refuse(error) else { return [] }
        return [.stopReading] + resume { $0 != .backlog } + giveUpWork()
            + [.fail(tasks.numbers, error), .cancelDataTasks, .endRefused(error)]
    }

    /// Whether the service's messages should be read now.
    var isReading: Bool { !life.isOver && link.state == .attached }

    // MARK: - Waiting

    /// Adds a waiter for the attachment.
    ///
    /// - Parameter failsFast: Whether the waiter stops waiting when the service cannot be reached.
    /// - Returns: The number of the new waiter, or nil if there is nothing to wait for.
    mutating func waitForAttachment(failsFast: Bool) -> Int? {
        guard !life.isOver, link.isJoining, !(failsFast && link.isAway) else { return nil }
        return waiters.add(.attachment(failsFast: failsFast))
    }

    /// Adds a waiter for the messages from before this process.
    ///
    /// - Returns: The number of the new waiter, or nil if these messages have already arrived.
    mutating func waitForBacklog() -> Int? {
        guard !life.isOver, !messages.isCaughtUp else { return nil }
        return waiters.add(.backlog)
    }

    /// Removes a waiter whose time limit has passed.
    mutating func stopWaiting(_ number: Int) { waiters.remove(number) }

    private mutating func resume(_ isMeant: (Event) -> Bool) -> [SessionAction] {
        let numbers = waiters.take(isMeant)
        return numbers.isEmpty ? [] : [.resume(numbers)]
    }

    /// Adds work that has to wait for the service.
    ///
    /// - Returns: The work's number. It is nil if the session is over. The caller must then give up the work.
    mutating func addWork(isUnreachable: Bool) -> (number: Int?, actions: [SessionAction]) {
        if hasNoService { return (nil, []) }
        let number = work.add(())
        // If the service is unreachable, the work is done when the service returns.
        guard !isUnreachable, !isWorkScheduled else { return (number, []) }
        isWorkScheduled = true
        return (number, [.doWork(after: Self.workPause)])
    }

    /// Records that the pause before the work has passed.
    mutating func workIsDue() { isWorkScheduled = false }

    mutating func takeWork() -> [Int] { work.take { true } }

    private mutating func giveUpWork() -> [SessionAction] {
        let numbers = takeWork()
        return numbers.isEmpty ? [] : [.giveUpWork(numbers)]
    }

    // MARK: - Tasks

    /// Returns the number of a new task.
    ///
    /// - Parameter start: The first number to use while the service has not said which number is the first.
    mutating func newTaskNumber(orFrom start: Int64) -> Int { tasks.newNumber(orFrom: start) }

    /// Adds a task that the app has made.
    mutating func add(_ number: Int) { tasks.add(number) }

    mutating func addDataTask(_ number: Int) { tasks.addDataTask(number) }

    /// Records that the service has a task under this id.
    ///
    /// - Returns: Whether the task is new to this process.
    mutating func learn(_ id: TaskID, of number: Int) -> Bool { tasks.learn(id, of: number) }

    /// Records that the service listed a task under this id. Must be called before ``attached(_:nextNumber:handled:)``.
    ///
    /// - Returns: Whether this process has to make an object for the task.
    mutating func learnListed(_ id: TaskID, of number: Int) -> Bool {
        !life.isOver && tasks.learnListed(id, of: number)
    }

    /// Records that the service has accepted a task.
    mutating func handedOver(_ number: Int, as id: TaskID) { tasks.handedOver(number, as: id) }

    /// Records that a task has ended.
    ///
    /// - Returns: Whether the delegate has to be notified of the task's end. This is true at the first call.
    mutating func end(_ number: Int) -> Bool { tasks.end(number) }

    /// Removes a task after the delegate was notified of its end.
    mutating func remove(_ number: Int) { tasks.remove(number) }

    mutating func removeDataTask(_ number: Int) -> [SessionAction] {
        tasks.removeDataTask(number)
        return [.endIfFinished]
    }

    /// Records that a task could not be sent to the service.
    mutating func postpone(_ number: Int, isUnreachable: Bool) -> [SessionAction] {
        tasks.postpone(number)
        // If the service is unreachable, the task is sent when the service returns. The timer is for a service that was
        // only slow.
        guard !isUnreachable, !isSendingScheduled else { return [] }
        isSendingScheduled = true
        return [.sendUnsent(after: Self.sendingPause)]
    }

    /// Records that the pause before tasks are sent has passed.
    mutating func sendingIsDue() { isSendingScheduled = false }

    /// The next task to send to the service.
    var nextUnsent: Int? { life.isOver ? nil : tasks.unsent.first }

    /// Records that a task was sent to the service, or does not have to be sent.
    mutating func sent(_ number: Int) { tasks.sent(number) }

    // MARK: - Messages

    /// Handles the arrival of a message.
    ///
    /// - Parameters:
    ///   - isQuestion: Whether the message is answered instead of acknowledged.
    ///   - isNoted: Whether the file on disk says that the delegate has received the message.
    mutating func receive(_ message: Int64, isQuestion: Bool, isNoted: Bool) -> SessionMessages.Fate {
        life.isOver ? .ignored : messages.receive(message, isQuestion: isQuestion, isNoted: isNoted)
    }

    /// Handles the return of the delegate's methods for a message.
    mutating func handled(_ message: Int64) -> [SessionAction] {
        messages.handle(message)
        return acknowledge()
    }

    /// Records that every message up to this one has reached the delegate.
    mutating func advance(to message: Int64) -> [SessionAction] {
        messages.advance(to: message)
        return [.reportProgress]
    }

    /// Records that the service has the answer to a question.
    mutating func answered(_ message: Int64) { messages.answer(message) }

    /// Records that every message from before this process has arrived. Messages up to this id that did not arrive were
    /// handled before.
    mutating func caughtUp(through message: Int64) -> [SessionAction] {
        messages.catchUp(to: message)
        let missing = tasks.takeMissing()
        return resume { $0 == .backlog } + (missing.isEmpty ? [] : [.lookFor(missing)]) + [.reportProgress]
    }

    /// Requests an acknowledgement of all handled messages in one request.
    mutating func acknowledge() -> [SessionAction] { messages.beginAcknowledging() ? [.acknowledge] : [] }

    /// Begins an acknowledgement, if none is scheduled or in progress and messages are pending.
    ///
    /// - Returns: Whether to acknowledge now, on the queue for requests.
    mutating func beginAcknowledging() -> Bool { messages.beginAcknowledging() }

    /// Handles the end of the scheduled acknowledgement.
    ///
    /// - Parameter messages: The acknowledged messages, or none if the request failed.
    mutating func acknowledgementEnded(_ messages: [Int64]) -> [SessionAction] {
        self.messages.endAcknowledging()
        return acknowledged(messages)
    }

    /// Records that the service has the acknowledgement of these messages.
    mutating func acknowledged(_ messages: [Int64]) -> [SessionAction] {
        guard !messages.isEmpty else { return [] }
        self.messages.acknowledge(messages)
        return acknowledge()
    }

    // MARK: - The end

    /// Handles an invalidation by the app.
    mutating func close(cancelling: Bool) { life.close(cancelling: cancelling) }

    /// Records that the session knows the tasks of earlier processes, or has waited long enough for them.
    mutating func settle() -> [SessionAction] {
        life.settle()
        return [.endIfFinished]
    }

    mutating func endIfFinished() -> [SessionAction] {
        life.mayEnd && tasks.isEmpty ? beginEnding(nil) : []
    }

    /// Ends the session now, even if it has tasks.
    mutating func beginEnding(_ error: URLError?) -> [SessionAction] {
        guard life.beginEnding() else { return [] }
        return [.stopReading] + giveUpWork() + [.sendLastMessage(error)]
    }

    /// Records that the delegate has received its last message.
    mutating func ended() -> [SessionAction] {
        guard life == .ending else { return [] }
        life.end()
        return [.release] + resume { _ in true } + [.reportEnd] + acknowledge()
    }

    /// Abandons the session: no more messages are read or delivered.
    mutating func abandon() -> [SessionAction] {
        guard life != .ended else { return [] }
        life.end()
        return [.stopReading, .release] + resume { _ in true }
    }
}
