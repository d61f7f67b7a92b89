import Foundation
import Harness

#if canImport(UIKit)
    import UIKit
#else
    import NightshiftUIKit
#endif

// Background fetch as apps use it. The code calls the delegate through the protocol, like the service, so that a method
// that only looks like the delegate's is detected.

/// A delegate with a completion handler, as in most apps.
private final class FeedAppDelegate: UIResponder, UIApplicationDelegate {
    var window: AnyObject?
    var posts: [String] = []

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        application.setMinimumBackgroundFetchInterval(UIApplication.backgroundFetchIntervalMinimum)
        return true
    }

    func application(
        _ application: UIApplication,
        performFetchWithCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
        Task {
            do {
                let (data, response) = try await URLSession.shared.data(from: Origin.file("feed"))
                guard (response as? HTTPURLResponse)?.statusCode == 200 else { return completionHandler(.failed) }
                let text = String(decoding: data, as: UTF8.self)
                if posts.contains(text) {
                    completionHandler(.noData)
                } else {
                    posts.append(text)
                    completionHandler(.newData)
                }
            } catch {
                completionHandler(.failed)
            }
        }
    }
}

/// A delegate with a session's task and its closure.
private final class ClosureAppDelegate: UIResponder, UIApplicationDelegate {
    func application(
        _ application: UIApplication,
        performFetchWithCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
        let url = Origin.file("closure-feed")
        let finish = completionHandler
        fetch(url) { data in
            finish(data.map { $0.isEmpty } == false ? UIBackgroundFetchResult.newData : .failed)
        }
    }

    private func fetch(_ url: URL, then: @escaping (Data?) -> Void) {
        Task { then(try? await URLSession.shared.data(from: url).0) }
    }
}

/// A delegate with a session's task and its closure.
private final class AsyncAppDelegate: UIResponder, UIApplicationDelegate {
    func applicationPerformFetch(_ application: UIApplication) async -> UIBackgroundFetchResult {
        do {
            let (data, _) = try await URLSession.shared.data(from: Origin.file("async-feed"))
            return data.isEmpty ? .noData : .newData
        } catch {
            return .failed
        }
    }
}

/// A delegate without a method for fetches.
private final class PlainAppDelegate: UIResponder, UIApplicationDelegate {}

@MainActor private func fetch(_ delegate: any UIApplicationDelegate) async -> UIBackgroundFetchResult {
    await withCheckedContinuation { continuation in
        delegate.application(UIApplication.shared) { continuation.resume(returning: $0) }
    }
}

@MainActor private func describe(_ status: UIBackgroundRefreshStatus) -> String {
    switch status {
    case .available: "available"
    case .denied: "denied"
    case .restricted: "restricted"
    }
}

func backgroundFetches() async {
    await situation("a delegate that fetches and calls its completion handler") {
        let delegate = FeedAppDelegate()
        try expectEqual(await fetch(delegate), .newData)
        try expectEqual(await fetch(delegate), .noData)
        try expectEqual(await delegate.posts, [Origin.text(of: "feed")])
    }
    await situation("a delegate that fetches with a closure") {
        try expectEqual(await fetch(ClosureAppDelegate()), .newData)
    }
    await situation("a delegate that fetches with await") {
        try expectEqual(await fetch(AsyncAppDelegate()), .newData)
    }
    await situation("a delegate without a method for fetches reports no data") {
        try expectEqual(await fetch(PlainAppDelegate()), .noData)
    }
    await situation("an interval that is set at launch and changed later") {
        await MainActor.run {
            let application = UIApplication.shared
            let delegate = FeedAppDelegate()
            _ = delegate.application(application, didFinishLaunchingWithOptions: nil)
            application.setMinimumBackgroundFetchInterval(60 * 60)
            application.setMinimumBackgroundFetchInterval(UIApplication.backgroundFetchIntervalNever)
        }
        try expectEqual(UIApplication.backgroundFetchIntervalMinimum, 0)
        try expectEqual(UIApplication.backgroundFetchIntervalNever, .greatestFiniteMagnitude)
    }
    await situation("the refresh status, and the notification of its changes") {
        let word = await MainActor.run {
            let observer = NotificationCenter.default.addObserver(
                forName: UIApplication.backgroundRefreshStatusDidChangeNotification, object: nil, queue: .main
            ) { _ in }
            defer { NotificationCenter.default.removeObserver(observer) }
            return describe(UIApplication.shared.backgroundRefreshStatus)
        }
        // This program has no desktop entry.
        try expectEqual(word, "restricted")
    }
    await situation("results and status have Apple's numbers") {
        try expectEqual(
            [.newData, .noData, .failed].map { (result: UIBackgroundFetchResult) in result.rawValue }, [0, 1, 2])
        try expectEqual(UIBackgroundRefreshStatus(rawValue: 2), .available)
    }
}
