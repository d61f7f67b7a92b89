import BackgroundTasks
import UIKit

/// An app delegate as in Xcode's template and Apple's sample for background tasks.
class AppDelegate: UIResponder, UIApplicationDelegate {
    static let refreshIdentifier = "com.example.refresh"
    var didLaunch = false

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: Self.refreshIdentifier, using: nil) { task in
            guard let task = task as? BGAppRefreshTask else { return }
            task.expirationHandler = { task.setTaskCompleted(success: false) }
            task.setTaskCompleted(success: true)
        }
        didLaunch = true
        return true
    }

    func applicationDidEnterBackground(_ application: UIApplication) {
        let request = BGAppRefreshTaskRequest(identifier: Self.refreshIdentifier)
        request.earliestBeginDate = Date(timeIntervalSinceNow: 15 * 60)
        do {
            try BGTaskScheduler.shared.submit(request)
        } catch {
            print("Could not schedule app refresh: \(error)")
        }
    }

    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        DownloadManager.shared.backgroundCompletionHandler = completionHandler
    }
}

/// Requests background time as a helper function does.
@MainActor func saveInBackground(_ save: () -> Void) {
    var identifier = UIBackgroundTaskIdentifier.invalid
    identifier = UIKit.UIApplication.shared.beginBackgroundTask(withName: "Saving") {
        UIApplication.shared.endBackgroundTask(identifier)
        identifier = .invalid
    }
    save()
    UIApplication.shared.endBackgroundTask(identifier)
}
