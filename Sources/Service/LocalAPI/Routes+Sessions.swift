import Hummingbird
import NightshiftAPI
import Operations
import Transfers

extension Routes {
    var sessionRoutes: [Route] {
        [
            Route(.get, "/v1/sessions") { _ in
                try await Reply.page(SessionList(sessions: try await service.sessions())).response
            },
            Route(.get, "/v1/sessions/{id}") { call in
                try Reply.json(try await service.session(call.sessionID())).response
            },
            Route(.put, "/v1/sessions/{id}") { call in
                let id = try call.sessionID()
                let settings = try await decoder.decode(SessionSettings.self, from: call.request)
                return try Reply.json(try await service.putSession(id, settings)).response
            },
            Route(.delete, "/v1/sessions/{id}") { call in
                try await operations.removeSession(call.sessionID())
                return Reply.empty(.noContent).response
            },
        ]
    }
}
