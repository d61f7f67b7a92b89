import Foundation
import NightshiftAPI

extension Application {
    /// Requests a device token, which the app's provider needs to send notifications to the app. Call this method at
    /// every launch.
    ///
    /// This method returns at once. The delegate receives the token, or the reason why no token was issued. The
    /// delegate is notified again whenever the token or the reason changes. If no service is running, the delegate is
    /// notified after the service has started.
    ///
    /// You do not need the user's permission for notifications to register. Without this permission, no notification is
    /// shown, but notifications with `content-available` still arrive if the app's desktop entry has the mode
    /// `remote-notification`.
    public func registerForRemoteNotifications() {
        connection.push.register(for: self)
    }

    /// Unregisters the app's token, so that the app no longer receives notifications that are sent to this token. This
    /// method returns at once.
    public func unregisterForRemoteNotifications() {
        connection.push.unregister()
    }

    /// Whether the app has registered and has a token, according to the service's last report. Reading this property
    /// does not contact the service.
    public var isRegisteredForRemoteNotifications: Bool { connection.push.isRegistered }

    /// The number on the app's icon, if the desktop shows such a number. Set the property to 0 to remove the number.
    ///
    /// Setting this property returns at once. Reading it returns the value that this process set last, or 0.
    public var applicationIconBadgeNumber: Int {
        get { connection.notifications.badge }
        set { connection.notifications.setBadge(max(0, newValue)) { _ in } }
    }

    /// Prints advice for an app whose delegate method for remote notifications was not called. Such a delegate may have
    /// a method whose declaration does not satisfy the protocol.
    func adviseRemoteNotificationMethod(of delegate: any ApplicationDelegate) {
        guard advisedNotificationMethods.insert("didReceive").inserted else { return }
        Notice.print(
            "A remote notification has arrived, but \(type(of: delegate)) does not implement the method for it. Implement "
                + "application(_:didReceiveRemoteNotification:fetchCompletionHandler:) in the class that declares the conformance to "
                + "ApplicationDelegate.")
    }

    /// Prints advice for an app whose delegate method for the token was not called.
    func adviseTokenMethod(of delegate: any ApplicationDelegate) {
        guard advisedNotificationMethods.insert("didRegister").inserted else { return }
        Notice.print(
            "The app has registered for remote notifications, but \(type(of: delegate)) does not implement the method that gets the token. "
                + "Implement application(_:didRegisterForRemoteNotificationsWithDeviceToken:) in the class that declares the conformance "
                + "to ApplicationDelegate.")
    }
}

extension Application.LaunchOptionsKey {
    /// The key of the remote notification that launched the app or that the user opened. The value is the provider's
    /// whole payload as `[AnyHashable: Any]`.
    public static let remoteNotification = Application.LaunchOptionsKey(
        rawValue: "UIApplicationLaunchOptionsRemoteNotificationKey")
}

extension Application {
    nonisolated func registrationEnded(_ notice: PushNotice) {
        onMain { application in
            guard let delegate = application.delegate else { return }
            if let token = notice.tokenData {
                delegate.application(application, didRegisterForRemoteNotificationsWithDeviceToken: token)
            } else {
                let sentence = notice.error ?? "The service sent an invalid token."
                // UIKit gives the same error to an app without the entitlement.
                let error = NSError(
                    domain: NSCocoaErrorDomain, code: 3_000, userInfo: [NSLocalizedDescriptionKey: sentence])
                delegate.application(application, didFailToRegisterForRemoteNotificationsWithError: error)
            }
        }
    }

    nonisolated func receive(
        _ delivery: PushDelivery, completion: @escaping @Sendable (RefreshResult) -> Void
    ) {
        onMain { application in
            guard let delegate = application.delegate else { return completion(.noData) }
            RemoteNotification.$hasLaunchedApp.withValue(application.launchNotifications.contains(delivery.id)) {
                delegate.application(
                    application, didReceiveRemoteNotification: UserInfo.remote(delivery.payload),
                    fetchCompletionHandler: { completion($0.result) })
            }
        }
    }
}

/// The remote notification that is being delivered to the app's delegate.
enum RemoteNotification {
    /// Whether the notification launched the app. UIKit's old method receives only notifications that arrive while the
    /// app is running.
    @TaskLocal static var hasLaunchedApp = false
}

extension ApplicationDelegate {
    /// Calls UIKit's old method for remote notifications, which has no completion handler.
    func receiveInOldForm(_ userInfo: [AnyHashable: Any], _ application: Application) {
        guard !RemoteNotification.hasLaunchedApp else { return }
        self.application(application, didReceiveRemoteNotification: userInfo)
    }
}
