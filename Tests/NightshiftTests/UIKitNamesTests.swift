import Foundation
import NightshiftUIKit
import Testing

/// An app delegate as in Xcode's template and Apple's article (row L1).
private final class AppDelegate: UIResponder, UIApplicationDelegate {
    var window: AnyObject?
    var backgroundCompletionHandler: (() -> Void)?

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        application.applicationState == .background
    }

    func applicationDidEnterBackground(_ application: UIApplication) {}

    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        backgroundCompletionHandler = completionHandler
    }

    func application(
        _ application: UIApplication,
        performFetchWithCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
        completionHandler(.noData)
    }
}

extension AppDelegate: URLSessionBackgroundDelegate {
    nonisolated func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        DispatchQueue.main.async {
            guard let appDelegate = UIApplication.shared.delegate as? AppDelegate,
                let backgroundCompletionHandler = appDelegate.backgroundCompletionHandler
            else { return }
            backgroundCompletionHandler()
        }
    }
}

@Suite @MainActor struct UIKitNamesTests {
    @Test func `L1: UIKit's names refer to Nightshift's types`() {
        let delegate: any UIApplicationDelegate = AppDelegate()
        delegate.application(.shared, handleEventsForBackgroundURLSession: "x") {}
        #expect((delegate as? AppDelegate)?.backgroundCompletionHandler != nil)
        var results: [UIBackgroundFetchResult] = []
        delegate.application(.shared) { result in MainActor.assumeIsolated { results.append(result) } }
        #expect(results == [.noData])
        #expect([UIBackgroundFetchResult.newData, .noData, .failed].map(\.rawValue) == [0, 1, 2])
        #expect([UIBackgroundRefreshStatus.restricted, .denied, .available].map(\.rawValue) == [0, 1, 2])
        #expect(UIApplication.backgroundFetchIntervalMinimum == 0)
        #expect(
            UIApplication.backgroundRefreshStatusDidChangeNotification.rawValue
                == "UIApplicationBackgroundRefreshStatusDidChangeNotification")
        #expect(UIApplication.State.active.rawValue == 0)
        #expect(UIApplication.didEnterBackgroundNotification.rawValue == "UIApplicationDidEnterBackgroundNotification")
        let task: UIBackgroundTaskIdentifier = .invalid
        #expect(task.rawValue == 0 && task == UIBackgroundTaskInvalid)
        #expect(UIApplication.shared.backgroundTimeRemaining == .greatestFiniteMagnitude)
    }
}
