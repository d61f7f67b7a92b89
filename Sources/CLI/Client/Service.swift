import Foundation
import NightshiftAPI
import NightshiftClient

/// The user's service as commands see it: it is there, or it is started.
struct Service: Sendable {
    var client: ServiceClient
    var launcher: ServiceLauncher

    /// Starts the service unless it answers.
    func ready() async throws {
        try await launcher.ensureRunning()
    }

    /// Fetches an answer, starting the service where it has to be; once more where the connection broke off, which is harmless
    /// for a question.
    func fetch<Answer>(_ question: Endpoint<Answer>) async throws -> Answer {
        try await ready()
        do {
            return try await client.send(question)
        } catch is ServiceUnreachable {
            try await ready()
            return try await client.send(question)
        }
    }

    func task(_ id: TaskID) async throws -> TaskStatus {
        try await fetch(.task(id))
    }

    func enqueue(_ tasks: [TaskRequest], for owner: AppOptions) async throws -> EnqueueResponse {
        let request = EnqueueRequest(
            session: owner.session.map(SessionID.init(rawValue:)), app: owner.app.map(AppID.init(rawValue:)),
            tasks: tasks)
        return try await client.send(.enqueue(request))
    }

    /// Tells every task that the filter lets through to `body`, page by page, in the order of their ids.
    ///
    /// - Parameter unreadable: hears of those that cannot be told.
    func forEachTask(
        _ filter: TaskFilter = TaskFilter(), after: TaskID? = nil, through last: TaskID? = nil,
        unreadable: (UnreadableTask) -> Void = { _ in },
        _ body: (TaskStatus) async throws -> Void
    ) async throws {
        var next = after
        repeat {
            let page = try await fetch(.tasks(filter, after: next))
            for task in page.unreadable ?? [] { unreadable(task) }
            for task in page.tasks {
                if let last, task.id > last { return }
                try await body(task)
            }
            next = page.next
        } while next != nil
    }
}

extension TaskState {
    static let unfinished = allCases.filter { !$0.isTerminal }
    static let ended = allCases.filter(\.isTerminal)
}
