public import Foundation

/// What an app wants to hear of its life; UIKit's `UIApplicationDelegate` as far as it makes sense here.
///
/// Every method has a default and is called on the main thread. A class that is marked `@main` is the program: it is made, and the
/// app runs until it is ended.
///
/// ```swift
/// @main final class AppDelegate: ApplicationDelegate {
///     func application(
///         _ application: Application, handleEventsForBackgroundURLSession identifier: String,
///         completionHandler: @escaping @Sendable () -> Void
///     ) { … }
/// }
/// ```
@preconcurrency @MainActor public protocol ApplicationDelegate: AnyObject {
    init()

    /// The app has been launched; the place to make its background sessions.
    ///
    /// - Parameter launchOptions: holds ``Application/LaunchOptionsKey/isBackgroundLaunch`` where the service has launched the app
    ///   in the background, ``Application/LaunchOptionsKey/remoteNotification`` where that was for a remote
    ///   notification, or its user has opened one, and ``Application/LaunchOptionsKey/location`` where it was for an
    ///   event of the location.
    /// - Returns: not looked at.
    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool

    func applicationDidBecomeActive(_ application: Application)

    func applicationWillResignActive(_ application: Application)

    /// Five seconds to tidy up: afterwards the app may be suspended.
    func applicationDidEnterBackground(_ application: Application)

    func applicationWillEnterForeground(_ application: Application)

    /// Never called; see ``Application/didReceiveMemoryWarningNotification``.
    func applicationDidReceiveMemoryWarning(_ application: Application)

    /// Not called for an app that is ended while it is suspended, or that crashes.
    func applicationWillTerminate(_ application: Application)

    /// Transfers of a background session have ended while the app was not there, or one needs an answer.
    ///
    /// Make the session with this identifier if it is not there, and keep the handler until
    /// `urlSessionDidFinishEvents(forBackgroundURLSession:)`. Without a method of its own an app completes then by itself.
    ///
    /// - Parameter completionHandler: to be called on any thread, within 30 s unless the app's entry says otherwise: an app that does
    ///   not is ended.
    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void)

    /// The app may fetch what is new before its user looks: the mode `fetch` and an interval are needed
    /// (``Application/setMinimumBackgroundFetchInterval(_:)``).
    ///
    /// - Parameter completionHandler: to be called on any thread, within 30 s, with what came of it: an app that does not is ended. What
    ///   takes longer is for a background session.
    func application(
        _ application: Application,
        performFetchWithCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void)

    /// The same, for delegates that wait instead of calling a handler. Only one of both is called.
    func applicationPerformFetch(_ application: Application) async -> BackgroundFetchResult

    /// The app has a token for its provider: asked for with ``Application/registerForRemoteNotifications()``, or
    /// another than before.
    ///
    /// - Parameter deviceToken: to be sent to the provider as it is, in hexadecimal; tokens differ in length.
    func application(
        _ application: Application, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)

    /// The app has no token.
    ///
    /// - Parameter error: of `NSCocoaErrorDomain`; its description is the service's own sentence.
    func application(
        _ application: Application, didFailToRegisterForRemoteNotificationsWithError error: any Error)

    /// A remote notification with `content-available` has come, in front and in the background; the mode
    /// `remote-notification` is needed. One that has launched the app comes here too, behind the launch.
    ///
    /// An alert that it carries is shown when the handler is called. Where the app has no
    /// `UNUserNotificationCenterDelegate`, a remote notification that its user opens comes here as well.
    ///
    /// - Parameters:
    ///   - userInfo: the whole of what the provider has sent; `null` is `NSNull`.
    ///   - completionHandler: to be called on any thread, within 30 s, with what came of it: an app that does not is
    ///     ended.
    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void)

    /// The same, for delegates that wait instead of calling a handler. Only one of them is called.
    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: sending [AnyHashable: Any]
    ) async -> BackgroundFetchResult

    /// The same in its old form, for delegates without one of the others: not called for a notification that has
    /// launched the app.
    func application(_ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any])

    /// A picture of the app as it looks now, for an app switcher: PNG, or nil where there is none.
    func applicationSnapshot(_ application: Application) -> Data?
}

extension ApplicationDelegate {
    public func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool { true }

    public func applicationDidBecomeActive(_ application: Application) {}

    public func applicationWillResignActive(_ application: Application) {}

    public func applicationDidEnterBackground(_ application: Application) {}

    public func applicationWillEnterForeground(_ application: Application) {}

    public func applicationDidReceiveMemoryWarning(_ application: Application) {}

    public func applicationWillTerminate(_ application: Application) {}

    public func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        application.complete(identifier, completionHandler)
    }

    public func application(
        _ application: Application,
        performFetchWithCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void
    ) {
        Task { @MainActor in completionHandler(await applicationPerformFetch(application)) }
    }

    public func applicationPerformFetch(_ application: Application) async -> BackgroundFetchResult {
        application.adviseFetchMethod(of: self)
        return .noData
    }

    public func application(
        _ application: Application, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
        application.adviseTokenMethod(of: self)
    }

    public func application(
        _ application: Application, didFailToRegisterForRemoteNotificationsWithError error: any Error
    ) {}

    public func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void
    ) {
        // Values of JSON, which nobody changes.
        nonisolated(unsafe) let userInfo = userInfo
        Task { @MainActor in
            completionHandler(await self.application(application, didReceiveRemoteNotification: userInfo))
        }
    }

    public func application(
        _ application: Application, didReceiveRemoteNotification userInfo: sending [AnyHashable: Any]
    ) async -> BackgroundFetchResult {
        // Through a method that does not wait: from here the name below would be this method's own.
        receiveInOldForm(userInfo, application)
        return .noData
    }

    public func application(_ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any]) {
        application.adviseRemoteNotificationMethod(of: self)
    }

    public func applicationSnapshot(_ application: Application) -> Data? { nil }

    /// The program: makes the delegate and runs the app.
    public static func main() {
        Application.shared.delegate = Self()
        Application.shared.run()
    }
}
