import Dispatch
import Executors
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Connects this session with the service's session of the same identifier.
extension SessionCore {
    /// Starts connecting this session with the service. This method must be called exactly once.
    func start() {
        connection.wake()
        apply { $0.machine.start() }
    }

    /// Returns the number of a new task.
    ///
    /// The service says which number is the first. If the service cannot be reached, the first number is random and far
    /// from the numbers of all tasks of the session. The service continues from there. A clock cannot replace the
    /// random number: after the clock is set back, a number could be used twice, and the service would confuse the two
    /// tasks.
    func newIdentifier() -> Int {
        wait(within: Self.attachmentTimeout) { $0.waitForAttachment(failsFast: true) }
        return state.withLock { $0.machine.newTaskNumber(orFrom: .random(in: 1 << 42..<1 << 52)) }
    }

    /// Reports to the service that the session exists in this process, lists the service's tasks, and begins to read
    /// its messages. Runs on ``requests``.
    func attach(_ attempt: Int) {
        guard state.withLock({ $0.machine.beginAttaching(attempt) }) else { return }
        do {
            let attachment = try attachSession(timeout: Self.requestTimeout)
            attached(attachment, try openTasksOfService())
        } catch let problem as Problem {
            refused(problem)
        } catch {
            lost()
        }
    }

    @discardableResult
    func attachSession(timeout: Duration) throws -> SessionAttachment {
        try connection.request(
            .attach(identifier, SessionSettings(configuration)), hasty: true, timeout: timeout)
    }

    private func openTasksOfService() throws -> [SessionTask] {
        var tasks: [SessionTask] = []
        var next: TaskID?
        repeat {
            let page = try connection.request(
                .tasks(inSession: identifier, after: next), timeout: Self.requestTimeout)
            tasks += page.tasks
            next = page.next
        } while next != nil
        return tasks
    }

    private func attached(_ attachment: SessionAttachment, _ tasks: [SessionTask]) {
        let handled = folder.withLock { folder in
            if folder == nil { folder = DeliveryFolder(connection.paths, session: attachment.session) }
            return folder?.handled.max() ?? 0
        }
        // This is done before callers are resumed, and without holding the lock, because the app may observe a task's
        // progress.
        for (core, task) in take(tasks) {
            core.apply(task)
            tellChanges(of: core)
        }
        let ids = Set(tasks.map(\.task.id))
        apply { $0.machine.attached(ids, nextNumber: attachment.nextTaskIdentifier, handled: handled) }
    }

    /// Makes objects for tasks of the service that this process does not know yet.
    ///
    /// - Returns: The tasks that this process already knows, each with the service's description of it.
    private func take(_ tasks: [SessionTask]) -> [(TaskCore, SessionTask)] {
        state.withLock { state in
            var known: [(TaskCore, SessionTask)] = []
            for task in tasks {
                let number = Int(task.task.taskIdentifier)
                if state.machine.learnListed(task.task.id, of: number) {
                    state.tasks[number] = TaskCore(self, task).makeTask()
                } else if let core = state.tasks[number]?.core {
                    known.append((core, task))
                }
            }
            return known
        }
    }

    /// Asks the service about tasks that it did not list and whose end was not reported by a message.
    func lookFor(_ tasks: [Int: TaskID]) {
        for (identifier, id) in tasks {
            guard let task = state.withLock({ $0.tasks[identifier] }) else { continue }
            do {
                try connection.notify(.task(id), hasty: true, timeout: Self.requestTimeout)
            } catch let problem as Problem where problem.status == 404 {
                endForgotten(task.core)
            } catch {
                // Either the task exists, or the service is asked again after the next attachment.
            }
        }
    }

    func read() {
        let reader = EventReader(
            client: connection.client, source: .messages(inSession: identifier),
            queue: events
        ) {
            [weak self] event in
            self?.receive(event)
        } onEnd: { [weak self] end in
            self?.readingEnded(end)
        }
        let isWanted = state.withLock { state in
            guard state.machine.isReading else { return false }
            state.reader = reader
            return true
        }
        if !isWanted { reader.cancel() }
    }

    func stopReading() {
        let reader = state.withLock { state in
            defer { state.reader = nil }
            return state.reader
        }
        reader?.cancel()
    }

    private func readingEnded(_ end: EventReader.End) {
        if case .refused(let problem) = end, !problem.isPassing, problem.type != Problem.noSessionType {
            refused(problem)
        } else {
            lost()
        }
    }

    /// Schedules another report to the service, after a pause, that the session exists in this process.
    private func lost() {
        // Reachability is read before the machine gets the input. If the service returns later, `onReconnect` finds
        // the new state.
        apply { $0.machine.lost(isUnreachable: connection.isUnreachable) }
    }

    /// Notifies the machine that the service can be reached, for the first time or again.
    func onReconnect() { apply { $0.machine.onReconnect() } }

    /// Handles the service's refusal of this session: every task fails, and the session ends.
    private func refused(_ problem: Problem) {
        let detail = problem.detail ?? problem.title
        let actions = state.withLock { $0.machine.refused(URLError.make(problem.urlErrorCode, detail)) }
        if !actions.isEmpty, problem.type != Problem.sessionInUseType {
            Notice.print("The service refuses the session \(identifier): \(detail)")
        }
        for action in actions { execute(action) }
    }
}
