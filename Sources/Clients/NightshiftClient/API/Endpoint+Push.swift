package import NightshiftAPI

// These requests concern remote and local notifications. Some are for people, and some are for an app's process.

extension Endpoint where Answer == PushStatus {
    package static var push: Self { Self(.get, APIPath("push")) }

    package static func enrol(_ request: PushEnrolmentRequest) -> Self {
        Self(.post, APIPath("push-enrolment"), request)
    }
}

extension Endpoint where Answer == AppPushStatus {
    package static func push(of id: AppID) -> Self { Self(.get, APIPath("push", id.rawValue)) }

    package static func changePush(of id: AppID, _ change: AppPushChange) -> Self {
        Self(.patch, APIPath("push", id.rawValue), change)
    }

    /// Registers an app whose program cannot register itself. The response is sent when the app has a token, or after a
    /// few seconds.
    package static func registerForPush(_ id: AppID) -> Self {
        Self(.put, APIPath("push", id.rawValue, "registration"))
    }
}

extension Endpoint where Answer == PushNotice {
    /// A request that registers the calling app for remote notifications.
    package static var registerForPush: Self { Self(.put, APIPath("process", "push")) }
}

extension Endpoint where Answer == ProcessNotifications {
    package static var notifications: Self { Self(.get, APIPath("process", "notifications")) }

    /// Asks the user for permission. The response is sent when the user has decided, or immediately if the user decided
    /// earlier.
    package static func requestAuthorization(_ request: NotificationAuthorizationRequest) -> Self {
        Self(.post, APIPath("process", "notification-authorization"), request)
    }
}

extension Endpoint where Answer == Void {
    package static var leavePush: Self { Self(.delete, APIPath("push-enrolment")) }

    package static func unregisterFromPush(_ id: AppID) -> Self {
        Self(.delete, APIPath("push", id.rawValue, "registration"))
    }

    package static var unregisterFromPush: Self { Self(.delete, APIPath("process", "push")) }

    package static func add(_ request: NotificationRequest) -> Self {
        Self(.post, APIPath("process", "notifications"), request)
    }

    /// Removes notifications of the calling app.
    ///
    /// - Parameter identifier: The identifier of the notification; nil for all notifications, shown or pending.
    package static func removeNotification(_ identifier: String?) -> Self {
        Self(
            .delete, identifier.map { APIPath("process", "notifications", $0) } ?? APIPath("process", "notifications"))
    }

    package static func setCategories(_ categories: NotificationCategories) -> Self {
        Self(.put, APIPath("process", "notification-categories"), categories)
    }

    package static func setBadge(_ change: BadgeChange) -> Self {
        Self(.put, APIPath("process", "badge"), change)
    }
}
