import Apps
import Hummingbird
import NightshiftAPI
import Transfers

extension Routes {
    /// The sessions of the app whose process is calling.
    var processSessionRoutes: [Route] { processSessionRoutesOfItself + processTaskRoutes + processMessageRoutes }

    private var processSessionRoutesOfItself: [Route] {
        [
            Route(.put, "/v1/process/sessions/{identifier}") { call in
                let (app, identifier) = try await session(call)
                let settings = try await decoder.decode(SessionSettings.self, from: call.request)
                try await apps.mayKeepSessions(app, launchEvents: settings.sessionSendsLaunchEvents)
                return try Reply.json(try await service.attach(app, identifier, settings)).response
            },
            Route(.delete, "/v1/process/sessions/{identifier}") { call in
                let (app, identifier) = try await session(call)
                try await service.invalidate(app, identifier)
                return Reply.empty(.noContent).response
            },
        ]
    }

    private var processTaskRoutes: [Route] {
        [
            Route(.get, "/v1/process/sessions/{identifier}/tasks", query: ["after", "limit"]) { call in
                let (app, identifier) = try await session(call)
                let after = try call.query.integer("after", in: 0...Int64.max).map { TaskID($0) }
                return try await Reply.page(
                    try await service.sessionTasks(app, identifier, after: after, limit: Self.limit(call.query))
                ).response
            },
            Route(.post, "/v1/process/sessions/{identifier}/tasks") { call in
                let (app, identifier) = try await session(call)
                let request = try await decoder.decode(
                    SessionEnqueueRequest.self, from: call.request, limit: Limits.requestBody)
                let ids = try await service.enqueue(
                    app, identifier, request, process: try call.process(), startDelay: await apps.startDelay(app),
                    fromBackground: await apps.isInBackground(app))
                return try Reply.json(EnqueueResponse(ids: ids), status: .created).response
            },
        ]
    }

    private var processMessageRoutes: [Route] {
        [
            Route(.get, "/v1/process/sessions/{identifier}/messages") { call in
                let process = try call.process()
                let (app, identifier) = try await session(call)
                let place = try processStreams.enter()
                let events = try await service.messages(app, identifier, process: process)
                return EventStream.response(to: call.request, events: events, place: place)
            },
            Route(.post, "/v1/process/sessions/{identifier}/acknowledge") { call in
                let (app, identifier) = try await session(call)
                let request = try await decoder.decode(MessageAcknowledgement.self, from: call.request)
                try await service.acknowledge(app, identifier, request.messages)
                return Reply.empty(.noContent).response
            },
            Route(.post, "/v1/process/sessions/{identifier}/answers") { call in
                let (app, identifier) = try await session(call)
                let answer = try await decoder.decode(MessageAnswer.self, from: call.request)
                try await service.answer(app, identifier, answer)
                return Reply.empty(.noContent).response
            },
        ]
    }

    /// Whose session is meant, and what they call it.
    private func session(_ call: Call) async throws -> (app: AppID, identifier: String) {
        let process = try call.process()
        let (app, identifier) = (try await apps.app(ofProcess: process), try call.sessionIdentifier())
        // What a second process wants of it would be done, and told to the first.
        try await service.requireFree(SessionID(app: app, identifier: identifier), for: process)
        return (app, identifier)
    }
}
