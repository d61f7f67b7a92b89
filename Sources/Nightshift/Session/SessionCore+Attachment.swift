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
        apply { $0.machine.start() }
    }

    /// The number of a new task.
    ///
    /// The service says where to begin. Where it cannot be reached, numbers begin at a random place that no task of the session
    /// has come near to, and the service continues from there. A clock would not do: set back, it would give a number twice, and
    /// the service would take one task for the other.
    func newIdentifier() -> Int {
        wait(within: Self.attachmentPatience) { $0.waitForAttachment(failsFast: true) }
        return state.withLock { $0.machine.newTaskNumber(orFrom: .random(in: 1 << 42..<1 << 52)) }
    }

    /// On ``requests``: says that the session is here, learns what the service has of it, and begins to read its messages.
    func attach(_ attempt: Int) {
        guard state.withLock({ $0.machine.beginAttaching(attempt) }) else { return }
        do {
            let attachment = try attachSession(patience: Self.requestPatience)
            attached(attachment, try openTasksOfService())
        } catch let problem as Problem {
            refused(problem)
        } catch {
            lost()
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

    private func attached(_ attachment: SessionAttachment, _ tasks: [SessionTask]) {
        let handled = folder.withLock { folder in
            if folder == nil { folder = DeliveryFolder(connection.paths, session: attachment.session) }
            return folder?.handled.max() ?? 0
        }
        // Before callers hear of them, and outside of the lock: an app's own progress may listen.
        for (core, task) in take(tasks) {
            core.apply(task)
            tellChanges(of: core)
        }
        let ids = Set(tasks.map(\.task.id))
        apply { $0.machine.attached(ids, nextNumber: attachment.nextTaskIdentifier, handled: handled) }
    }

    /// Makes the tasks of the service that this process does not have.
    ///
    /// - Returns: those that it has, with what the service says of each.
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

    /// Asks for tasks that were not listed and whose end no message has reported.
    func lookFor(_ tasks: [Int: TaskID]) {
        for (identifier, id) in tasks {
            guard let task = state.withLock({ $0.tasks[identifier] }) else { continue }
            do {
                try connection.notify(.task(id), hasty: true, patience: Self.requestPatience)
            } catch let problem as Problem where problem.status == 404 {
                endForgotten(task.core)
            } catch {
                // It is there, or is asked for after the next attachment.
            }
        }
    }

    func read() {
        let reader = EventReader(client: connection.client, source: .messages(inSession: identifier), queue: events) {
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

    /// The service is to hear again that the session is here, after a pause.
    private func lost() {
        // Asked in here: its return, which comes after, finds what is noted.
        apply { $0.machine.lost(isUnreachable: connection.isUnreachable) }
    }

    /// The service can be reached (again).
    func serviceIsBack() { apply { $0.machine.serviceIsBack() } }

    /// The service does not accept this session here: every task fails, and the session ends.
    private func refused(_ problem: Problem) {
        let detail = problem.detail ?? problem.title
        let actions = state.withLock { $0.machine.refused(URLError.make(problem.urlErrorCode, detail)) }
        if !actions.isEmpty, problem.type != Problem.sessionInUseType {
            Notice.print("The session \(identifier) is refused: \(detail)")
        }
        for action in actions { execute(action) }
    }
}
