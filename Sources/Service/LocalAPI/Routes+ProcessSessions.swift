import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the sessions of the calling app.
    var processSessionRoutes: [Route] { processSessionRoutesOfItself + processTaskRoutes + processMessageRoutes }

    private var processSessionRoutesOfItself: [Route] {
        [
            Route(process: .put, "/v1/process/sessions/{identifier}") { call, process in
                let session = try await session(call, process)
                let settings = try await decoder.decode(SessionSettings.self, from: call.request)
                return try Reply.json(try await operations.attach(session, settings)).response
            },
            Route(process: .delete, "/v1/process/sessions/{identifier}") { call, process in
                let session = try await session(call, process)
                try await operations.invalidate(session)
                return Reply.empty(.noContent).response
            },
        ]
    }

    private var processTaskRoutes: [Route] {
        [
            Route(process: .get, "/v1/process/sessions/{identifier}/tasks", query: ["after", "limit"]) {
                call, process in
                let session = try await session(call, process)
                let after = try call.query.integer("after", in: 0...Int64.max).map { TaskID($0) }
                return try await Reply.page(
                    try await operations.tasks(of: session, after: after, limit: Self.limit(call.query))
                ).response
            },
            Route(process: .post, "/v1/process/sessions/{identifier}/tasks") { call, process in
                let session = try await session(call, process)
                let request = try await decoder.decode(
                    SessionEnqueueRequest.self, from: call.request, limit: Limits.requestBody)
                let ids = try await operations.enqueue(request, in: session)
                return try Reply.json(EnqueueResponse(ids: ids), status: .created).response
            },
        ]
    }

    private var processMessageRoutes: [Route] {
        [
            Route(process: .get, "/v1/process/sessions/{identifier}/messages") { call, process in
                let session = try await session(call, process)
                let place = try processStreams.enter()
                let events = try await operations.messages(of: session)
                return try EventStream.response(to: call.request, events: events, place: place)
            },
            Route(process: .post, "/v1/process/sessions/{identifier}/acknowledge") { call, process in
                let session = try await session(call, process)
                let request = try await decoder.decode(MessageAcknowledgement.self, from: call.request)
                try await operations.acknowledge(request.messages, of: session)
                return Reply.empty(.noContent).response
            },
            Route(process: .post, "/v1/process/sessions/{identifier}/answers") { call, process in
                let session = try await session(call, process)
                let answer = try await decoder.decode(MessageAnswer.self, from: call.request)
                try await operations.answer(answer, in: session)
                return Reply.empty(.noContent).response
            },
        ]
    }

    /// Returns the session of the calling process. The caller is checked before the request's content.
    private func session(_ call: Call, _ process: CallingProcess) async throws(Problem) -> ProcessSession {
        try await operations.session(try call.sessionIdentifier(), by: process)
    }
}
