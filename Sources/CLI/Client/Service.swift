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

    /// Asks, starting the service where it has to be; once more where the connection broke off, which is harmless
    /// for a question.
    func get<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer {
        try await ready()
        do {
            return try await client.get(path, as: type)
        } catch is ServiceUnreachable {
            try await ready()
            return try await client.get(path, as: type)
        }
    }

    func task(_ id: TaskID) async throws -> TaskStatus {
        try await get("/v1/tasks/\(id)", as: TaskStatus.self)
    }

    func enqueue(_ tasks: [TaskRequest], for owner: AppOptions) async throws -> [TaskID] {
        let request = EnqueueRequest(
            session: owner.session.map(SessionID.init(rawValue:)), app: owner.app.map(AppID.init(rawValue:)),
            tasks: tasks)
        return try await client.post("/v1/tasks", request, as: EnqueueResponse.self).ids
    }

    /// Tells every task that `query` names to `body`, page by page, in the order of their ids.
    ///
    /// - Parameters:
    ///   - query: without `after` and `limit`, as `state=waiting,running`.
    ///   - unreadable: hears of those that cannot be told.
    func forEachTask(
        _ query: String = "", after: TaskID? = nil, through last: TaskID? = nil,
        unreadable: (UnreadableTask) -> Void = { _ in },
        _ body: (TaskStatus) async throws -> Void
    ) async throws {
        var next = after
        repeat {
            let parameters = [query, next.map { "after=\($0)" } ?? "", "limit=\(Limits.pageSize)"]
            let page = try await get(
                "/v1/tasks?" + parameters.filter { !$0.isEmpty }.joined(separator: "&"), as: TaskPage.self)
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

    /// `state=a,b`, as the list of tasks takes it.
    static func query(_ states: [TaskState]) -> String {
        "state=" + states.map(\.rawValue).joined(separator: ",")
    }
}
