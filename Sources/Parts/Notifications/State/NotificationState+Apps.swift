import Foundation
package import NightshiftAPI
import Runtime
import Store

/// The requests of apps and people.
extension NotificationState {
    /// Sets the user's permission. If it no longer allows notifications to be shown, shown notifications and waiting
    /// local ones are removed. Waiting notifications of providers are removed only if notifications are denied.
    package mutating func setPermission(_ permission: NotificationPermission, of app: AppID, now: Double) {
        guard permission != self.permission(of: app) else { return }
        apps[app, default: NotificationAppRecord()].permission = permission
        // The next alert asks again if the permission is reset.
        asked.remove(app)
        if !permission.shows {
            show(badge: 0, of: app)
            for index in items.indices where items[index].stored.app == app && items[index].stored.state != .shown {
                if permission == .denied { report(.denied, at: index, now) }
            }
            removeItems(of: app) { stored in
                permission == .denied || stored.state == .shown || !stored.notification.isRemote
            }
        }
        effects.append(.permissionChanged(app))
        note(.notificationPermission, app, permission.rawValue, now)
    }

    /// Adds a notification of the app, to be shown now or later.
    package mutating func add(_ request: NotificationRequest, for app: AppID, now: Double) throws(Problem) {
        let notification = request.notification
        try Self.check(notification)
        guard permission(of: app).shows else {
            throw .forbidden(
                "Notifications of \(app) are not allowed. 'nightshift app notifications \(app) --allow' allows them.")
        }
        if let delay = request.delay {
            guard delay > 0, delay <= Limits.longestTimeout else {
                throw .invalid("A delay must be more than 0 s, and at most 100 years.", pointer: "/delay")
            }
        }
        guard !request.repeats || request.delay ?? 0 >= 60 else {
            throw .invalid("A repeating notification must have a delay of 60 s or more.", pointer: "/delay")
        }
        var stored = StoredNotification(app: app, notification: notification, due: now + (request.delay ?? 0))
        stored.notification.date = Date(timeIntervalSince1970: now)
        stored.notification.isRemote = false
        stored.delay = request.delay
        stored.repeats = request.repeats
        if let index = index(stored.key) { items.remove(at: index) }
        items.append(Item(stored: stored))
        prune(app, isShown: false)
    }

    /// Removes notifications of the app with the given identifiers. If `identifiers` is nil, removes all of them.
    ///
    /// - Parameter isShown: true to remove only shown ones, false to remove only waiting ones, nil to remove both.
    package mutating func remove(_ identifiers: [String]?, of app: AppID, isShown: Bool? = nil) {
        let names = identifiers.map { Set($0) }
        removeItems(of: app) { stored in
            // An app cannot remove a provider's notification before it is shown.
            guard stored.state == .shown || !stored.notification.isRemote else { return false }
            let isMeant = names.map { $0.contains(stored.notification.identifier) } ?? true
            return isMeant && isShown.map { $0 == (stored.state == .shown) } ?? true
        }
    }

    private mutating func removeItems(of app: AppID, _ isMeant: (StoredNotification) -> Bool) {
        for item in items where item.stored.app == app && isMeant(item.stored) {
            if let place = item.stored.place { close(place) }
        }
        items.removeAll { $0.stored.app == app && isMeant($0.stored) }
    }

    package mutating func set(_ categories: NotificationCategories, for app: AppID) throws(Problem) {
        guard categories.categories.count <= Limits.notificationCategories else {
            throw .invalid(
                "An app may have at most \(Limits.notificationCategories) categories.", pointer: "/categories")
        }
        for (index, category) in categories.categories.enumerated() {
            let pointer = "/categories/\(index)"
            try Self.check(category.identifier, Limits.notificationIdentifierLength, "\(pointer)/identifier")
            try Self.check(category.actions, pointer: "\(pointer)/actions")
        }
        guard apps[app]?.categories ?? [] != categories.categories else { return }
        apps[app, default: NotificationAppRecord()].categories = categories.categories
    }

    package mutating func setBadge(_ count: Int, of app: AppID) throws(Problem) {
        guard (0...Limits.badge).contains(count) else {
            throw .invalid("A badge must be 0 to \(Limits.badge).", pointer: "/count")
        }
        guard permission(of: app).shows else {
            throw .forbidden(
                "Notifications of \(app) are not allowed. 'nightshift app notifications \(app) --allow' allows them.")
        }
        show(badge: count, of: app)
    }

    mutating func show(badge count: Int, of app: AppID) {
        let count = min(max(0, count), Limits.badge)
        guard apps[app]?.badge ?? 0 != count else { return }
        apps[app, default: NotificationAppRecord()].badge = count
        effects.append(.badge(app, count))
    }

    package func notifications(of app: AppID) -> ProcessNotifications {
        var answer = ProcessNotifications(permission: permission(of: app), canShow: canShow)
        for item in items where item.stored.app == app {
            let stored = item.stored
            if stored.state == .shown {
                answer.delivered.append(stored.notification)
            } else if !stored.notification.isRemote {
                answer.pending.append(
                    NotificationRequest(
                        notification: stored.notification, delay: stored.delay, repeats: stored.repeats))
            }
        }
        return answer
    }

    /// Removes all notification data of an app that was removed.
    package mutating func forget(_ app: AppID) {
        for item in items where item.stored.app == app {
            if let place = item.stored.place { close(place) }
        }
        for (number, question) in questions where question.app == app { answer(number, nil) }
        if apps[app]?.badge ?? 0 > 0 { effects.append(.badge(app, 0)) }
        items.removeAll { $0.stored.app == app }
        asked.remove(app)
        apps[app] = nil
        outbox.append(.forget(app))
    }

    // MARK: - Validation

    private static func check(_ notification: AppNotification) throws(Problem) {
        let path = "/notification"
        guard !notification.identifier.isEmpty else {
            throw .invalid("A notification must have an identifier.", pointer: "\(path)/identifier")
        }
        try check(notification.identifier, Limits.notificationIdentifierLength, "\(path)/identifier")
        for (name, text) in [
            ("title", notification.title), ("subtitle", notification.subtitle), ("body", notification.body),
        ] { try check(text, Limits.notificationText, "\(path)/\(name)") }
        for (name, text) in [
            ("thread", notification.thread), ("category", notification.category), ("sound", notification.sound ?? ""),
        ] { try check(text, Limits.notificationIdentifierLength, "\(path)/\(name)") }
        try check(notification.userInfo, Limits.notificationText, "\(path)/userInfo")
        try check(notification.actions, pointer: "\(path)/actions")
        if let badge = notification.badge, badge < 0 {
            throw .invalid("A badge must not be negative.", pointer: "\(path)/badge")
        }
    }

    private static func check(_ actions: [AppNotification.Action], pointer: String) throws(Problem) {
        guard actions.count <= Limits.notificationActions else {
            throw .invalid("At most \(Limits.notificationActions) actions are allowed.", pointer: pointer)
        }
        for (index, action) in actions.enumerated() {
            try check(action.identifier, Limits.notificationIdentifierLength, "\(pointer)/\(index)/identifier")
            try check(action.title, Limits.notificationIdentifierLength, "\(pointer)/\(index)/title")
        }
    }

    private static func check(_ text: String, _ most: Int, _ pointer: String) throws(Problem) {
        guard text.utf8.count <= most else {
            throw .invalid("This value may have at most \(most) bytes.", pointer: pointer)
        }
    }
}
