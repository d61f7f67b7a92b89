import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the calling app's background refresh and scheduled tasks.
    var processRefreshRoutes: [Route] {
        [
            Route(.put, "/v1/process/refresh") { call in
                let process = try call.process()
                let wish = try await decoder.decode(RefreshRequest.self, from: call.request)
                try await operations.setInterval(wish.interval, process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.get, "/v1/process/scheduled-tasks") { call in
                let tasks = try await operations.scheduledTasks(process: call.process(), channel: call.channel)
                return try Reply.json(ScheduledTaskList(tasks: tasks)).response
            },
            Route(.post, "/v1/process/scheduled-tasks") { call in
                let process = try call.process()
                let task = try await decoder.decode(ScheduledTask.self, from: call.request)
                try await operations.submit(task, process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.delete, "/v1/process/scheduled-tasks") { call in
                try await operations.cancel(nil, process: call.process(), channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.delete, "/v1/process/scheduled-tasks/{identifier}") { call in
                let process = try call.process()
                try await operations.cancel(call.taskIdentifier(), process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.patch, "/v1/process/scheduled-tasks/{identifier}") { call in
                let process = try call.process()
                let identifier = try call.taskIdentifier()
                let progress = try await decoder.decode(ScheduledTaskProgress.self, from: call.request)
                try await operations.progress(identifier, progress, process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
