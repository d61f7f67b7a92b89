public import Foundation

/// The methods with which an app receives events of its life cycle. They are the methods of UIKit's
/// `UIApplicationDelegate` that make sense on Linux.
///
/// Every method has a default implementation and is called on the main thread. If you mark a class with `@main`, the
/// program creates an instance and runs the app until it is terminated.
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

    /// Called when the app has been launched. Create the app's background sessions here.
    ///
    /// - Parameter launchOptions: The reasons for the launch. ``Application/LaunchOptionsKey/isBackgroundLaunch`` is
    ///   set if the service launched the app in the background. ``Application/LaunchOptionsKey/remoteNotification`` is
    ///   set if the app was launched for a remote notification, or because the user opened one.
    ///   ``Application/LaunchOptionsKey/location`` is set if the app was launched for a location event.
    /// - Returns: A value that the library ignores.
    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool

    func applicationDidBecomeActive(_ application: Application)

    func applicationWillResignActive(_ application: Application)

    /// Called when the app enters the background. The app has five seconds to finish its work. After that time, the
    /// service may suspend the app.
    func applicationDidEnterBackground(_ application: Application)

    func applicationWillEnterForeground(_ application: Application)

    /// A method that the library never calls. See ``Application/didReceiveMemoryWarningNotification``.
    func applicationDidReceiveMemoryWarning(_ application: Application)

    /// Called before the app terminates, except when it crashes or is terminated while it is suspended.
    func applicationWillTerminate(_ application: Application)

    /// Called when transfers of a background session ended while the app was not running, or when a transfer needs an
    /// answer.
    ///
    /// Create the session with this identifier if it does not exist. Keep the handler, and call it in
    /// `urlSessionDidFinishEvents(forBackgroundURLSession:)`. The default implementation calls the handler when the
    /// session's delegate has been notified of all events.
    ///
    /// - Parameter completionHandler: Call this handler, on any thread, within 30 s or the time set in the app's
    ///   desktop entry. The service terminates an app that does not call the handler in time.
    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void)

    /// Called when the app may fetch new content before the user opens the app. The app needs the background mode
    /// `fetch` and an interval (``Application/setMinimumBackgroundFetchInterval(_:)``).
    ///
    /// - Parameter completionHandler: Call this handler, on any thread, within 30 s with the result of the fetch. The
    ///   service terminates an app that does not call the handler in time. Use a background session for longer downloads.
    func application(
        _ application: Application,
        performFetchWithCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void)

    /// The asynchronous form of the method with a completion handler. The library calls only one of these two methods.
    func applicationPerformFetch(_ application: Application) async -> BackgroundFetchResult

    /// Called when the app has received a device token for its provider. This happens after a call to
    /// ``Application/registerForRemoteNotifications()``, and whenever the token changes.
    ///
    /// - Parameter deviceToken: The token. Send it to the provider in hexadecimal. The length of tokens varies.
    func application(
        _ application: Application, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)

    /// Called when registering the app for remote notifications has failed.
    ///
    /// - Parameter error: An error of `NSCocoaErrorDomain`. Its description is the service's reason.
    func application(
        _ application: Application, didFailToRegisterForRemoteNotificationsWithError error: any Error)

    /// Called when a remote notification with `content-available` has arrived, in the foreground and in the background.
    /// The app needs the background mode `remote-notification`. A notification that launched the app is also passed to
    /// this method, after the launch.
    ///
    /// If the notification has an alert, the alert is shown when the handler is called. If the app has no
    /// `UNUserNotificationCenterDelegate`, this method is also called for a remote notification that the user opens.
    ///
    /// - Parameters:
    ///   - userInfo: The complete payload that the provider sent. JSON's `null` is `NSNull`.
    ///   - completionHandler: Call this handler, on any thread, within 30 s with the result of the fetch. The service
    ///   terminates an app that does not call the handler in time.
    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void)

    /// The asynchronous form of the method with a completion handler. The library calls only one of these two methods.
    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: sending [AnyHashable: Any]
    ) async -> BackgroundFetchResult

    /// The older form of the method, without a result. The library calls this form only if the delegate implements
    /// neither of the other forms. It never calls this form for a notification that launched the app.
    func application(_ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any])

    /// Returns a PNG image of the app's current appearance for an app switcher, or nil if the app has no image.
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
        // The dictionary holds JSON values, which are not modified.
        nonisolated(unsafe) let userInfo = userInfo
        Task { @MainActor in
            completionHandler(await self.application(application, didReceiveRemoteNotification: userInfo))
        }
    }

    public func application(
        _ application: Application, didReceiveRemoteNotification userInfo: sending [AnyHashable: Any]
    ) async -> BackgroundFetchResult {
        // The old form is called through a synchronous method, because in this asynchronous method the same name would
        // refer to the asynchronous form.
        receiveInOldForm(userInfo, application)
        return .noData
    }

    public func application(_ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any]) {
        application.adviseRemoteNotificationMethod(of: self)
    }

    public func applicationSnapshot(_ application: Application) -> Data? { nil }

    /// Creates the delegate and runs the app.
    public static func main() {
        Application.shared.delegate = Self()
        Application.shared.run()
    }
}
