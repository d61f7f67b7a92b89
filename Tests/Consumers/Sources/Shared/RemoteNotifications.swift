import Foundation
import Harness

#if canImport(UIKit)
    import UIKit
#else
    import NightshiftUIKit
#endif

// Remote notifications as apps use them. The code calls the delegate through the protocol, like the service, so that a
// method that only looks like the delegate's is detected.

/// A delegate with a completion handler, as in most apps. It sends the token to a provider.
private final class NewsAppDelegate: UIResponder, UIApplicationDelegate {
    var window: AnyObject?
    var tokens: [String] = []
    var failures: [String] = []
    var openedArticle: String?

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        if let notification = launchOptions?[.remoteNotification] as? [String: AnyObject],
            notification["aps"] is [String: AnyObject]
        {
            openedArticle = notification["article"] as? String
        }
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data) {
        let tokenParts = deviceToken.map { data in String(format: "%02.2hhx", data) }
        tokens.append(tokenParts.joined())
    }

    func application(_ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: Error) {
        failures.append(error.localizedDescription)
    }

    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
        guard let aps = userInfo["aps"] as? [String: AnyObject] else {
            completionHandler(.failed)
            return
        }
        if aps["content-available"] as? Int == 1, let article = userInfo["article"] as? String {
            Task {
                let result = try? await URLSession.shared.data(from: Origin.file(article))
                completionHandler(result == nil ? .failed : .newData)
            }
        } else {
            completionHandler(.noData)
        }
    }
}

/// A delegate with the asynchronous method that Xcode completes.
private final class AsyncAppDelegate: UIResponder, UIApplicationDelegate {
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        guard let article = userInfo["article"] as? String else { return .noData }
        do {
            let (data, _) = try await URLSession.shared.data(from: Origin.file(article))
            return data.isEmpty ? .noData : .newData
        } catch {
            return .failed
        }
    }
}

/// A delegate with the method from before iOS 7.
private final class OldAppDelegate: UIResponder, UIApplicationDelegate {
    var articles: [String] = []

    func application(_ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]) {
        articles.append(userInfo["article"] as? String ?? "none")
    }
}

/// A delegate without a method for notifications.
private final class PlainAppDelegate: UIResponder, UIApplicationDelegate {}

@MainActor private func receive(
    _ delegate: any UIApplicationDelegate, _ userInfo: [AnyHashable: Any]
) async -> UIBackgroundFetchResult {
    await withCheckedContinuation { continuation in
        delegate.application(UIApplication.shared, didReceiveRemoteNotification: userInfo) {
            continuation.resume(returning: $0)
        }
    }
}

@MainActor private func received(
    _ delegate: any UIApplicationDelegate, article: String?
) async -> UIBackgroundFetchResult {
    await receive(delegate, ["aps": ["content-available": 1], "article": article ?? NSNull()])
}

func remoteNotifications() async {
    await situation("a delegate that fetches for a notification and calls its completion handler") {
        let delegate = NewsAppDelegate()
        try expectEqual(await received(delegate, article: "pushed"), .newData)
        try expectEqual(await receive(delegate, ["aps": ["alert": "Hello"]]), .noData)
        try expectEqual(await receive(delegate, [:]), .failed)
    }
    await situation("a delegate that fetches for a notification with await") {
        try expectEqual(await received(AsyncAppDelegate(), article: "pushed-async"), .newData)
        try expectEqual(await received(AsyncAppDelegate(), article: nil), .noData)
    }
    await situation("a delegate with the old method for notifications") {
        let delegate = OldAppDelegate()
        try expectEqual(await received(delegate, article: "old"), .noData)
        try expectEqual(await delegate.articles, ["old"])
    }
    await situation("a delegate without a method for notifications reports no data") {
        try expectEqual(await received(PlainAppDelegate(), article: "nobody"), .noData)
    }
    await situation("a token for the provider, and the reason if it has none") {
        let (tokens, failures) = await MainActor.run {
            let news = NewsAppDelegate()
            let delegate: any UIApplicationDelegate = news
            delegate.application(.shared, didRegisterForRemoteNotificationsWithDeviceToken: Data([0, 171, 255]))
            let error = NSError(domain: "x", code: 1, userInfo: [NSLocalizedDescriptionKey: "No gateway."])
            delegate.application(.shared, didFailToRegisterForRemoteNotificationsWithError: error)
            return (news.tokens, news.failures)
        }
        try expectEqual(tokens, ["00abff"])
        try expectEqual(failures, ["No gateway."])
    }
    await situation("a launch by a notification") {
        let article = await MainActor.run {
            let delegate = NewsAppDelegate()
            let payload: [AnyHashable: Any] = ["aps": ["alert": "Hello"], "article": "launched"]
            _ = delegate.application(.shared, didFinishLaunchingWithOptions: [.remoteNotification: payload])
            return delegate.openedArticle
        }
        try expectEqual(article, "launched")
    }
    await situation("registering for notifications, unregistering, and the badge") {
        await MainActor.run {
            let application = UIApplication.shared
            application.registerForRemoteNotifications()
            application.unregisterForRemoteNotifications()
            application.applicationIconBadgeNumber = 2
            application.applicationIconBadgeNumber -= 2
        }
        try expect(await !UIApplication.shared.isRegisteredForRemoteNotifications, "it is registered")
        try expectEqual(await UIApplication.shared.applicationIconBadgeNumber, 0)
    }
}
