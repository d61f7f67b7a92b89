import Foundation
import Nightshift

/// An app that records everything it observes, and misbehaves if its orders say so.
@main final class AppProbe: ApplicationDelegate {
    private let conduct: Conduct
    private var sessions: [String: ProbeSession] = [:]

    init() {
        let path = CommandLine.arguments.dropFirst().first ?? ""
        guard let data = FileManager.default.contents(atPath: path),
            let orders = try? JSONDecoder().decode(Orders.self, from: data)
        else {
            FileHandle.standardError.write(Data("app-probe: no orders in '\(path)'\n".utf8))
            _exit(2)
        }
        conduct = Conduct(orders)
    }

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        let isBackgroundLaunch = launchOptions?[.isBackgroundLaunch] != nil
        let isForLocation = launchOptions?[.location] != nil
        conduct.journal.note(.launched) { sighting in
            sighting.text = isBackgroundLaunch ? "background" : "foreground"
            sighting.description = isForLocation ? "location" : nil
        }
        conduct.refreshing.launched(application, conduct)
        conduct.notifying.launched(application, launchOptions, conduct)
        conduct.locating.launched(conduct)
        for order in conduct.orders.sessions where order.isMadeAtLaunch || !isBackgroundLaunch { make(order) }
        reach(isBackgroundLaunch ? .launchedInBackground : .launched)
        if !isBackgroundLaunch {
            conduct.journal.note(.begun)
            reach(.begun)
        }
        return true
    }

    func applicationDidBecomeActive(_ application: Application) {
        conduct.journal.note(.active)
        reach(.active)
    }

    func applicationWillResignActive(_ application: Application) { conduct.journal.note(.resigned) }

    func applicationDidEnterBackground(_ application: Application) {
        conduct.journal.note(.background)
        reach(.background)
    }

    func applicationWillEnterForeground(_ application: Application) { conduct.journal.note(.foreground) }

    func applicationWillTerminate(_ application: Application) { conduct.journal.note(.terminating) }

    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        conduct.journal.note(.handleEvents) { $0.session = identifier }
        for order in conduct.orders.sessions where order.identifier == identifier { make(order) }
        sessions[identifier]?.keep(completionHandler)
        reach(.handleEvents)
    }

    func application(
        _ application: Application,
        performFetchWithCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void
    ) {
        conduct.journal.note(.fetching)
        reach(.fetching)
        conduct.refreshing.fetch(completionHandler)
    }

    func application(_ application: Application, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data) {
        conduct.notifying.registered(deviceToken)
    }

    func application(_ application: Application, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
        conduct.notifying.failedToRegister(error)
    }

    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void
    ) {
        conduct.notifying.receive(userInfo, completionHandler)
    }

    func applicationSnapshot(_ application: Application) -> Data? {
        conduct.journal.note(.snapshot)
        // This is the smallest possible PNG: one grey point.
        return Data(
            base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptV"
                + "AAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")
    }

    private func make(_ order: SessionOrder) {
        guard sessions[order.identifier] == nil else { return }
        sessions[order.identifier] = ProbeSession(order, conduct)
    }

    private func reach(_ point: Point) {
        _ = conduct.deeds(at: point)
        for session in sessions.values { session.begin(at: point) }
    }
}
