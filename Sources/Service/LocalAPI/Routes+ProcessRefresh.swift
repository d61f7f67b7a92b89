import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the calling app's background refresh and scheduled tasks.
    var processRefreshRoutes: [Route] {
        [
            Route(process: .put, "/v1/process/refresh") { call, process in
                let wish = try await decoder.decode(RefreshRequest.self, from: call.request)
                try await operations.setInterval(wish.interval, by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .get, "/v1/process/scheduled-tasks") { call, process in
                let tasks = try await operations.scheduledTasks(by: process)
                return try Reply.json(ScheduledTaskList(tasks: tasks)).response
            },
            Route(process: .post, "/v1/process/scheduled-tasks") { call, process in
                let task = try await decoder.decode(ScheduledTask.self, from: call.request)
                try await operations.submit(task, by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .delete, "/v1/process/scheduled-tasks") { call, process in
                try await operations.cancel(nil, by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .delete, "/v1/process/scheduled-tasks/{identifier}") { call, process in
                try await operations.cancel(call.taskIdentifier(), by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .patch, "/v1/process/scheduled-tasks/{identifier}") { call, process in
                let identifier = try call.taskIdentifier()
                let progress = try await decoder.decode(ScheduledTaskProgress.self, from: call.request)
                try await operations.progress(identifier, progress, by: process)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
