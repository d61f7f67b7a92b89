import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the sessions of the calling app.
    var processSessionRoutes: [Route] { processSessionRoutesOfItself + processTaskRoutes + processMessageRoutes }

    private var processSessionRoutesOfItself: [Route] {
        [
            Route(.put, "/v1/process/sessions/{identifier}") { call in
                let session = try await session(call)
                let settings = try await decoder.decode(SessionSettings.self, from: call.request)
                return try Reply.json(try await operations.attach(session, settings)).response
            },
            Route(.delete, "/v1/process/sessions/{identifier}") { call in
                let session = try await session(call)
                try await operations.invalidate(session)
                return Reply.empty(.noContent).response
            },
        ]
    }

    private var processTaskRoutes: [Route] {
        [
            Route(.get, "/v1/process/sessions/{identifier}/tasks", query: ["after", "limit"]) { call in
                let session = try await session(call)
                let after = try call.query.integer("after", in: 0...Int64.max).map { TaskID($0) }
                return try await Reply.page(
                    try await operations.tasks(of: session, after: after, limit: Self.limit(call.query))
                ).response
            },
            Route(.post, "/v1/process/sessions/{identifier}/tasks") { call in
                let session = try await session(call)
                let request = try await decoder.decode(
                    SessionEnqueueRequest.self, from: call.request, limit: Limits.requestBody)
                let ids = try await operations.enqueue(request, in: session)
                return try Reply.json(EnqueueResponse(ids: ids), status: .created).response
            },
        ]
    }

    private var processMessageRoutes: [Route] {
        [
            Route(.get, "/v1/process/sessions/{identifier}/messages") { call in
                let session = try await session(call)
                let place = try processStreams.enter()
                let events = try await operations.messages(of: session)
                return try EventStream.response(to: call.request, events: events, place: place)
            },
            Route(.post, "/v1/process/sessions/{identifier}/acknowledge") { call in
                let session = try await session(call)
                let request = try await decoder.decode(MessageAcknowledgement.self, from: call.request)
                try await operations.acknowledge(request.messages, of: session)
                return Reply.empty(.noContent).response
            },
            Route(.post, "/v1/process/sessions/{identifier}/answers") { call in
                let session = try await session(call)
                let answer = try await decoder.decode(MessageAnswer.self, from: call.request)
                try await operations.answer(answer, in: session)
                return Reply.empty(.noContent).response
            },
        ]
    }

    /// Returns the session of the calling process. The caller is checked before the request's content.
    private func session(_ call: Call) async throws(Problem) -> ProcessSession {
        let process = try call.process()
        return try await operations.session(
            try call.sessionIdentifier(), ofProcess: process, channel: call.channel)
    }
}
