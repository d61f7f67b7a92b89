import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the calling app's remote notifications and for the notifications that it shows.
    var processPushRoutes: [Route] { processRegistrationRoutes + processNotificationRoutes }

    private var processRegistrationRoutes: [Route] {
        [
            Route(process: .put, "/v1/process/push") { call, process in
                let notice = try await operations.registerForPush(by: process)
                return try Reply.json(notice).response
            },
            Route(process: .delete, "/v1/process/push") { call, process in
                try await operations.unregisterForPush(by: process)
                return Reply.empty(.noContent).response
            },
        ]
    }

    private var processNotificationRoutes: [Route] {
        [
            Route(process: .get, "/v1/process/notifications") { call, process in
                let status = try await operations.processNotifications(by: process)
                return try Reply.json(status).response
            },
            Route(process: .post, "/v1/process/notifications") { call, process in
                let request = try await decoder.decode(NotificationRequest.self, from: call.request)
                try await operations.notify(request, by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .delete, "/v1/process/notifications") { call, process in
                try await operations.removeNotifications(nil, by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .delete, "/v1/process/notifications/{identifier}") { call, process in
                try await operations.removeNotifications(
                    [call.notificationIdentifier()], by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .post, "/v1/process/notification-authorization") { call, process in
                let request = try await decoder.decode(NotificationAuthorizationRequest.self, from: call.request)
                let status = try await operations.requestNotifications(
                    request, by: process)
                return try Reply.json(status).response
            },
            Route(process: .put, "/v1/process/notification-categories") { call, process in
                let request = try await decoder.decode(NotificationCategories.self, from: call.request)
                try await operations.set(request, by: process)
                return Reply.empty(.noContent).response
            },
            Route(process: .put, "/v1/process/badge") { call, process in
                let change = try await decoder.decode(BadgeChange.self, from: call.request)
                try await operations.set(change, by: process)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
