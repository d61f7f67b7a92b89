import Hummingbird
import NightshiftAPI
import Operations
import Push

extension Routes {
    /// The routes for remote notifications, used by people.
    var pushRoutes: [Route] {
        [
            Route(.get, "/v1/push") { _ in
                try Reply.json(try await push.status()).response
            },
            Route(.post, "/v1/push-enrolment") { call in
                let request = try await decoder.decode(PushEnrolmentRequest.self, from: call.request)
                return try Reply.json(try await push.enrol(request)).response
            },
            Route(.delete, "/v1/push-enrolment") { _ in
                try await push.leave()
                return Reply.empty(.noContent).response
            },
            Route(.get, "/v1/push/{id}") { call in
                try Reply.json(try await push.status(of: call.appID())).response
            },
            Route(.patch, "/v1/push/{id}") { call in
                let id = try call.appID()
                let change = try await decoder.decode(AppPushChange.self, from: call.request)
                return try Reply.json(try await operations.change(id, change)).response
            },
            Route(.put, "/v1/push/{id}/registration") { call in
                try Reply.json(try await push.register(call.appID())).response
            },
            Route(.delete, "/v1/push/{id}/registration") { call in
                let id = try call.appID()
                // This call throws for an unknown app.
                _ = try await push.status(of: id)
                try await push.unregister(id)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
