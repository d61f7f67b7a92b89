import Apps
import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the background time of the calling app.
    var backgroundTaskRoutes: [Route] {
        [
            Route(process: .post, "/v1/process/background-tasks") { call, process in
                let request = try await decoder.decode(BackgroundTaskRequest.self, from: call.request)
                try await apps.beginBackgroundTask(process: process.id, channel: process.channel, request)
                return Reply.empty(.noContent).response
            },
            Route(process: .delete, "/v1/process/background-tasks/{number}") { call, process in
                try await apps.endBackgroundTask(
                    process: process.id, channel: process.channel, number: call.integer("number", in: 1...Int64.max))
                return Reply.empty(.noContent).response
            },
        ]
    }
}
