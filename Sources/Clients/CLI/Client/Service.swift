import Foundation
import NightshiftAPI
import NightshiftClient

/// A connection to the user's service, which starts the service if it is not running.
struct Service: Sendable {
    var client: ServiceClient
    var launcher: ServiceLauncher

    /// Starts the service if it does not respond.
    func ready() async throws {
        try await launcher.ensureRunning()
    }

    /// Starts the service if necessary, and fetches a response. If the connection is lost, the request is sent once
    /// more. This is harmless, because the request changes nothing.
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

    /// Calls `body` for each task that matches the filter, in the order of the ids. The tasks are read page by page.
    ///
    /// - Parameter unreadable: called for each task whose stored data cannot be read.
    func forEachTask(
        _ filter: TaskFilter = TaskFilter(), after: TaskID? = nil, through last: TaskID? = nil,
        unreadable: (UnreadableTask) -> Void = { _ in },
        _ body: (TaskStatus) async throws -> Void
    ) async throws {
        var next: TaskPage? = try await fetch(.tasks(filter, after: after))
        while let page = next {
            // The service prepares the next page while this one is handled.
            async let following = self.page(filter, after: page.next)
            for task in page.unreadable ?? [] { unreadable(task) }
            for task in page.tasks {
                if let last, task.id > last { return }
                try await body(task)
            }
            next = try await following
        }
    }

    private func page(_ filter: TaskFilter, after task: TaskID?) async throws -> TaskPage? {
        guard let task else { return nil }
        return try await fetch(.tasks(filter, after: task))
    }
}

extension TaskState {
    static let unfinished = allCases.filter { !$0.isTerminal }
    static let ended = allCases.filter(\.isTerminal)
}
