import Hummingbird
import NightshiftAPI
import Operations
import Refresh

extension Routes {
    /// The routes for background refresh, used by people.
    var refreshRoutes: [Route] { deviceRefreshRoutes + appRefreshRoutes + scheduledTaskRoutes }

    private var deviceRefreshRoutes: [Route] {
        [
            Route(.get, "/v1/refresh") { _ in
                try Reply.json(try await refresh.status()).response
            },
            Route(.patch, "/v1/refresh") { call in
                let change = try await decoder.decode(RefreshChange.self, from: call.request)
                return try Reply.json(try await refresh.change(change)).response
            },
            Route(.post, "/v1/forget-use") { _ in
                try Reply.json(try await refresh.forgetAll()).response
            },
        ]
    }

    private var appRefreshRoutes: [Route] {
        [
            Route(.get, "/v1/refresh/{id}") { call in
                try Reply.json(try await refresh.status(of: call.appID())).response
            },
            Route(.patch, "/v1/refresh/{id}") { call in
                let id = try call.appID()
                let change = try await decoder.decode(AppRefreshChange.self, from: call.request)
                return try Reply.json(try await refresh.change(id, change)).response
            },
            Route(.post, "/v1/refresh/{id}/fetch") { call in
                try Reply.json(try await refresh.fetchNow(call.appID())).response
            },
            Route(.post, "/v1/refresh/{id}/forget") { call in
                try Reply.json(try await refresh.forgetUse(of: call.appID())).response
            },
            Route(.post, "/v1/refresh/{id}/expire") { call in
                let id = try call.appID()
                let request = try await decoder.decodeIfPresent(ExpirationRequest.self, from: call.request)
                return try Reply.json(try await operations.expire(id, request ?? ExpirationRequest())).response
            },
        ]
    }

    private var scheduledTaskRoutes: [Route] {
        [
            Route(.get, "/v1/refresh/{id}/scheduled-tasks") { call in
                let tasks = try await refresh.scheduledTasks(of: call.appID())
                return try Reply.json(ScheduledTaskList(tasks: tasks)).response
            },
            Route(.post, "/v1/refresh/{id}/scheduled-tasks") { call in
                let id = try call.appID()
                let task = try await decoder.decode(ScheduledTask.self, from: call.request)
                try await operations.submit(task, for: id)
                return Reply.empty(.noContent).response
            },
            Route(.delete, "/v1/refresh/{id}/scheduled-tasks/{identifier}") { call in
                let id = try call.appID()
                try await operations.cancel(call.taskIdentifier(), of: id)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
