import Dispatch
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Connecting with the session that the service keeps.
extension SessionCore {
    /// Begins to connect; to be called once.
    func start() {
        connection.wake()
        requests.async { [self] in attach() }
    }

    /// Calls `body` on ``waiting`` when the service has said what there is, or the session has failed or ended.
    ///
    /// - Parameter orAway: also as soon as the service cannot be reached.
    func whenAttached(orAway: Bool, _ body: @escaping @Sendable () -> Void) {
        let waiter = AttachmentWaiter(isHasty: orAway) { [waiting] in waiting.async(execute: body) }
        if !add(waiter) { waiter.goOn() }
    }

    /// Waits a while for the service to have said what there is. Where it cannot be reached this does not wait at all.
    private func waitForAttachment() {
        let semaphore = DispatchSemaphore(value: 0)
        let waiter = AttachmentWaiter(isHasty: true) { semaphore.signal() }
        guard add(waiter) else { return }
        let seconds = Int(Self.attachmentPatience.components.seconds)
        if semaphore.wait(timeout: .now() + .seconds(seconds)) == .timedOut {
            state.withLock { $0.waiters.removeAll { $0 === waiter } }
        }
    }

    /// - Returns: false where there is nothing to wait for.
    private func add(_ waiter: AttachmentWaiter) -> Bool {
        state.withLock { state in
            guard case .pending = state.attachment, !state.isInvalid, !(waiter.isHasty && state.isAway) else {
                return false
            }
            state.waiters.append(waiter)
            return true
        }
    }

    var failure: URLError? {
        state.withLock { state in
            if case .failed(let error) = state.attachment { return error }
            return nil
        }
    }

    /// The number of a new task.
    ///
    /// The service says where to begin. Where it cannot be reached, numbers begin at a random place that no task of the session
    /// has come near to, and the service goes on from there. A clock would not do: set back, it would give a number twice, and
    /// the service would take one task for the other.
    func newIdentifier() -> Int {
        waitForAttachment()
        return state.withLock { state in
            let next = state.nextIdentifier ?? Int64.random(in: 1 << 42..<1 << 52)
            state.nextIdentifier = next + 1
            return Int(next)
        }
    }

    /// On ``requests``: says that the session is here, learns what the service has of it, and begins to read its messages.
    private func attach() {
        guard state.withLock({ !$0.isInvalid && $0.needsAttachment }) else { return }
        let known = state.withLock { $0.tasks.compactMapValues { $0.core.state.withLock(\.id) } }
        do {
            let attachment = try attachSession(patience: Self.requestPatience)
            let tasks = try openTasksOfService()
            attached(attachment, tasks, known: known)
        } catch let problem as Problem {
            refused(problem)
        } catch {
            attachLater()
        }
    }

    @discardableResult
    func attachSession(patience: Duration) throws -> SessionAttachment {
        try connection.request(
            .attach(identifier, SessionSettings(configuration)), hasty: true, patience: patience)
    }

    private func openTasksOfService() throws -> [SessionTask] {
        var tasks: [SessionTask] = []
        var next: TaskID?
        repeat {
            let page = try connection.request(
                .tasks(inSession: identifier, after: next), patience: Self.requestPatience)
            tasks += page.tasks
            next = page.next
        } while next != nil
        return tasks
    }

    /// - Parameter known: the tasks that the service had before it was asked.
    private func attached(_ attachment: SessionAttachment, _ tasks: [SessionTask], known: [Int: TaskID]) {
        let lastHandled = folder.withLock { folder in
            if folder == nil { folder = DeliveryFolder(connection.paths, session: attachment.session) }
            return folder?.handled.max() ?? 0
        }
        // Before anybody hears of them, and outside of the lock: an app's own progress may listen.
        for (core, task) in take(tasks) {
            core.apply(task)
            tellChanges(of: core)
        }
        let listed = Set(tasks.map(\.task.id))
        let waiters = state.withLock { state in
            state.unlisted = known.filter { !listed.contains($0.value) }
            state.lastHandled = max(state.lastHandled, lastHandled)
            state.nextIdentifier = max(state.nextIdentifier ?? 1, attachment.nextTaskIdentifier)
            if case .pending = state.attachment { state.attachment = .attached }
            state.needsAttachment = false
            state.isAway = false
            state.pause = .zero
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.goOn() }
        read()
        acknowledge()
        retryBelated()
        runWaiting()
        connection.commands.advanced(self)
    }

    /// Makes the tasks of the service that this process does not have.
    ///
    /// - Returns: those that it has, with what the service says of each.
    private func take(_ tasks: [SessionTask]) -> [(TaskCore, SessionTask)] {
        state.withLock { state in
            var known: [(TaskCore, SessionTask)] = []
            for task in tasks {
                let identifier = Int(task.task.taskIdentifier)
                state.taskIdentifiers[task.task.id] = identifier
                if let core = state.tasks[identifier]?.core {
                    known.append((core, task))
                } else {
                    state.tasks[identifier] = TaskCore(self, task).makeTask()
                }
            }
            return known
        }
    }

    /// Asks for tasks that were not listed and of whose end no message has told.
    func lookFor(_ tasks: [Int: TaskID]) {
        for (identifier, id) in tasks {
            guard let task = state.withLock({ $0.tasks[identifier] }) else { continue }
            do {
                try connection.notify(.task(id), hasty: true, patience: Self.requestPatience)
            } catch let problem as Problem where problem.status == 404 {
                endForgotten(task.core)
            } catch {
                // It is there, or is asked for behind the next attachment.
            }
        }
    }

    private func read() {
        let reader = EventReader(client: connection.client, source: .messages(inSession: identifier), queue: events) {
            [weak self] event in
            self?.receive(event)
        } onEnd: { [weak self] end in
            self?.readingEnded(end)
        }
        let isWanted = state.withLock { state in
            state.reader = reader
            return !state.isInvalid
        }
        if !isWanted { reader.cancel() }
    }

    private func readingEnded(_ end: EventReader.End) {
        guard !state.withLock(\.isInvalid) else { return }
        if case .refused(let problem) = end, !problem.isPassing, problem.type != Problem.noSessionType {
            refused(problem)
        } else {
            attachLater()
        }
    }

    /// A pause that grows; ended by the first message that comes.
    private func attachLater() {
        let (pause, waiters) = state.withLock { state in
            state.reader = nil
            state.needsAttachment = true
            // Asked in here: its return, which comes by behind, finds what is noted.
            state.isAway = connection.isUnreachable
            defer {
                state.pause = min(max(state.pause * 2, .milliseconds(20)), .seconds(5))
                if state.isAway { state.waiters.removeAll(where: \.isHasty) }
            }
            return (state.pause, state.isAway ? state.waiters.filter(\.isHasty) : [])
        }
        for waiter in waiters { waiter.goOn() }
        let milliseconds = Int(pause.components.seconds * 1_000 + pause.components.attoseconds / 1_000_000_000_000_000)
        requests.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [self] in attach() }
    }

    /// The service can be reached (again): whoever waits for that need not wait for the next attempt to attach, which may be far away.
    func serviceIsBack() {
        let isAttaching = state.withLock { state in
            defer { state.isAway = false }
            return state.needsAttachment && state.isAway
        }
        // Behind what is being given up there.
        requests.async { [self] in
            acknowledgeNow()
            // The attachment comes to the others.
            if isAttaching { return attach() }
            retryBelated()
            runWaiting()
        }
    }

    /// The service will not have this session here: every task fails, and the session ends.
    private func refused(_ problem: Problem) {
        let isInUse = problem.type == Problem.sessionInUseType
        let error = URLError.make(problem.urlErrorCode, problem.detail ?? problem.title)
        let (waiters, tasks) = state.withLock { state in
            state.attachment = .failed(error)
            state.needsAttachment = false
            state.reader = nil
            defer { state.waiters = [] }
            return (state.waiters, Array(state.tasks.values))
        }
        for waiter in waiters { waiter.goOn() }
        giveUpWaiting()
        if !isInUse { Notice.print("The session \(identifier) is refused: \(problem.detail ?? problem.title)") }
        for task in tasks { endHere(task.core, error: error) }
        for task in openDataTasks { task.cancel() }
        // A caller that is just making a task is told of its end first.
        events.asyncAfter(deadline: .now() + .seconds(1)) { [self] in invalidate(error) }
    }
}

/// Somebody who waits for a session's attachment.
final class AttachmentWaiter: Sendable {
    /// Whether it goes on without it where the service cannot be reached.
    let isHasty: Bool
    let goOn: @Sendable () -> Void

    init(isHasty: Bool, goOn: @escaping @Sendable () -> Void) {
        self.isHasty = isHasty
        self.goOn = goOn
    }
}
