import Apps
import Hummingbird
import NightshiftAPI

extension Routes {
    /// The routes for the background time of the calling app.
    var backgroundTaskRoutes: [Route] {
        [
            Route(.post, "/v1/process/background-tasks") { call in
                let process = try call.process()
                let request = try await decoder.decode(BackgroundTaskRequest.self, from: call.request)
                try await apps.beginBackgroundTask(process: process, channel: call.channel, request)
                return Reply.empty(.noContent).response
            },
            Route(.delete, "/v1/process/background-tasks/{number}") { call in
                let process = try call.process()
                try await apps.endBackgroundTask(
                    process: process, channel: call.channel, number: call.integer("number", in: 1...Int64.max))
                return Reply.empty(.noContent).response
            },
        ]
    }
}
