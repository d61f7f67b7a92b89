import Foundation
import NightshiftAPI

extension Application {
    /// Asks for a token under which the app's provider can reach it; to be called at every launch.
    ///
    /// Returns at once. The delegate hears the token, or why there is none, and again whenever that changes; without
    /// a service it hears it when there is one. The user's permission for notifications is not needed: without it
    /// nothing is shown, and what is sent with `content-available` comes all the same where the app's entry has the
    /// mode `remote-notification`.
    public func registerForRemoteNotifications() {
        connection.push.register(for: self)
    }

    /// Gives the app's token back: what is sent to it does not come any more. Returns at once.
    public func unregisterForRemoteNotifications() {
        connection.push.unregister()
    }

    /// Whether the app has registered and has a token, as far as the service has said; asks nobody.
    public var isRegisteredForRemoteNotifications: Bool { connection.push.isRegistered }

    /// The number on the app's icon, where the desktop shows one; 0 takes it away.
    ///
    /// Setting it returns at once. Reading it gives what this process has set last, and 0 before.
    public var applicationIconBadgeNumber: Int {
        get { connection.notifications.badge }
        set { connection.notifications.setBadge(max(0, newValue)) { _ in } }
    }

    /// Nobody has called the delegate's own method, which it may have all the same.
    func adviseRemoteNotificationMethod(of delegate: any ApplicationDelegate) {
        guard advisedNotificationMethods.insert("didReceive").inserted else { return }
        Notice.print(
            "A remote notification has come, and \(type(of: delegate)) has no method that hears of it. It has to be "
                + "application(_:didReceiveRemoteNotification:fetchCompletionHandler:), in the class that conforms to "
                + "ApplicationDelegate itself.")
    }

    /// The same of the method that hears the token.
    func adviseTokenMethod(of delegate: any ApplicationDelegate) {
        guard advisedNotificationMethods.insert("didRegister").inserted else { return }
        Notice.print(
            "The app has registered for remote notifications, and \(type(of: delegate)) has no method that hears its token. "
                + "It has to be application(_:didRegisterForRemoteNotificationsWithDeviceToken:), in the class that conforms "
                + "to ApplicationDelegate itself.")
    }
}

extension Application.LaunchOptionsKey {
    /// The remote notification that the app was launched for, or that its user has opened: `[AnyHashable: Any]`, the
    /// whole of what the provider has sent.
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
                let sentence = notice.error ?? "The service's token cannot be understood."
                // UIKit's own for an app that is not entitled to them.
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

/// The remote notification that the app's delegate is told of.
enum RemoteNotification {
    /// Whether the app was launched for it: UIKit's old method hears only of those that come to a running app.
    @TaskLocal static var hasLaunchedApp = false
}

extension ApplicationDelegate {
    /// UIKit's old method, which takes no part in fetching.
    func receiveInOldForm(_ userInfo: [AnyHashable: Any], _ application: Application) {
        guard !RemoteNotification.hasLaunchedApp else { return }
        self.application(application, didReceiveRemoteNotification: userInfo)
    }
}
