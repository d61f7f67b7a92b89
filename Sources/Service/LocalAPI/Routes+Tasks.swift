import Hummingbird
import NightshiftAPI
import Operations
import Transfers

extension Routes {
    var taskRoutes: [Route] { taskListRoutes + oneTaskRoutes + taskActionRoutes }

    private var taskListRoutes: [Route] {
        [
            Route(.post, "/v1/tasks") { call in
                let request = try await decoder.decode(
                    EnqueueRequest.self, from: call.request, limit: Limits.requestBody)
                return try Reply.json(try await operations.accept(request), status: .created).response
            },
            Route(.get, "/v1/tasks", query: ["task", "session", "state", "after", "limit"]) { call in
                try await Reply.page(try await service.tasks(Self.taskQuery(call.query))).response
            },
        ]
    }

    private var oneTaskRoutes: [Route] {
        [
            Route(.get, "/v1/tasks/{id}") { call in
                try Reply.json(try await service.task(call.taskID())).response
            },
            Route(.patch, "/v1/tasks/{id}") { call in
                let id = try call.taskID()
                let change = try await decoder.decode(TaskChange.self, from: call.request)
                return try Reply.json(try await service.change(id, change)).response
            },
            Route(.delete, "/v1/tasks/{id}") { call in
                try await service.remove(call.taskID())
                return Reply.empty(.noContent).response
            },
            Route(.get, "/v1/tasks/{id}/why") { call in
                try Reply.json(try await service.explain(call.taskID())).response
            },
            Route(.get, "/v1/tasks/{id}/content") { call in
                try FileContent(path: try await service.keptFile(call.taskID())).response
            },
        ]
    }

    private var taskActionRoutes: [Route] {
        [
            Route(.post, "/v1/tasks/{id}/suspend") { call in
                try Reply.json(try await service.suspend(call.taskID())).response
            },
            Route(.post, "/v1/tasks/{id}/resume") { call in
                try Reply.json(try await service.resume(call.taskID())).response
            },
            Route(.post, "/v1/tasks/{id}/retry") { call in
                try Reply.json(try await service.retry(call.taskID())).response
            },
            Route(.post, "/v1/retry") { call in
                let request = try await decoder.decodeIfPresent(RetryRequest.self, from: call.request)
                return try Reply.json(try await service.retry(request ?? RetryRequest())).response
            },
            Route(.post, "/v1/tasks/{id}/retarget") { call in
                let id = try call.taskID()
                let request = try await decoder.decode(RetargetRequest.self, from: call.request)
                return try Reply.json(try await service.retarget(id, request)).response
            },
            Route(.post, "/v1/tasks/{id}/cancel") { call in
                let id = try call.taskID()
                let request = try await decoder.decodeIfPresent(CancelRequest.self, from: call.request)
                return try Reply.json(
                    try await service.cancel(id, producingResumeData: request?.producingResumeData ?? false)
                ).response
            },
            // The path does not begin with /v1/tasks, because the next segment there is the id of a transfer.
            Route(.post, "/v1/actions") { call in
                let request = try await decoder.decode(TaskActionRequest.self, from: call.request)
                return try await Reply.page(try await service.act(request)).response
            },
        ]
    }

    private static func taskQuery(_ query: QueryParameters) throws(Problem) -> TaskQuery {
        TaskQuery(
            tasks: try query.taskIDs("task"),
            session: try query.string("session").map(SessionID.init(rawValue:)),
            states: try states(query.list("state")),
            after: try query.integer("after", in: 0...Int64.max).map { TaskID($0) },
            limit: try limit(query))
    }

    private static func states(_ names: [String]?) throws(Problem) -> Set<TaskState>? {
        guard let names else { return nil }
        var states: Set<TaskState> = []
        for name in names {
            guard let state = TaskState(rawValue: name) else {
                let known = TaskState.allCases.map(\.rawValue).joined(separator: ", ")
                throw .badRequest("'\(name)' is not a state. Use one of \(known).")
            }
            states.insert(state)
        }
        return states
    }
}
