import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the calling app's remote notifications and for the notifications that it shows.
    var processPushRoutes: [Route] { processRegistrationRoutes + processNotificationRoutes }

    private var processRegistrationRoutes: [Route] {
        [
            Route(.put, "/v1/process/push") { call in
                let notice = try await operations.registerForPush(process: call.process(), channel: call.channel)
                return try Reply.json(notice).response
            },
            Route(.delete, "/v1/process/push") { call in
                try await operations.unregisterForPush(process: call.process(), channel: call.channel)
                return Reply.empty(.noContent).response
            },
        ]
    }

    private var processNotificationRoutes: [Route] {
        [
            Route(.get, "/v1/process/notifications") { call in
                let status = try await operations.processNotifications(process: call.process(), channel: call.channel)
                return try Reply.json(status).response
            },
            Route(.post, "/v1/process/notifications") { call in
                let process = try call.process()
                let request = try await decoder.decode(NotificationRequest.self, from: call.request)
                try await operations.notify(request, process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.delete, "/v1/process/notifications") { call in
                try await operations.removeNotifications(nil, process: call.process(), channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.delete, "/v1/process/notifications/{identifier}") { call in
                let process = try call.process()
                try await operations.removeNotifications(
                    [call.notificationIdentifier()], process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.post, "/v1/process/notification-authorization") { call in
                let process = try call.process()
                let request = try await decoder.decode(NotificationAuthorizationRequest.self, from: call.request)
                let status = try await operations.requestNotifications(
                    request, process: process, channel: call.channel)
                return try Reply.json(status).response
            },
            Route(.put, "/v1/process/notification-categories") { call in
                let process = try call.process()
                let request = try await decoder.decode(NotificationCategories.self, from: call.request)
                try await operations.set(request, process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
            Route(.put, "/v1/process/badge") { call in
                let process = try call.process()
                let change = try await decoder.decode(BadgeChange.self, from: call.request)
                try await operations.set(change, process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
