import Foundation
import Harness
import Nightshift
import NightshiftUIKit

/// A class of Swift 5 without annotations for concurrency.
private class LegacyManager: NSObject, URLSessionDownloadDelegate {
    var onText: ((String) -> Void)?
    var session: URLSession?

    func connect(_ identifier: String) {
        let configuration: URLSessionConfiguration = .background(withIdentifier: identifier)
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        onText?((try? String(contentsOf: location)) ?? "no file")
    }
}

/// A class that uses the app in methods that are not isolated to an actor.
private class AppManager {
    lazy var state = UIApplication.shared.applicationState
    var task = UIBackgroundTaskIdentifier.invalid

    func save() {
        UIApplication.shared.setMinimumBackgroundFetchInterval(UIApplication.backgroundFetchIntervalMinimum)
        UIDevice.current.isBatteryMonitoringEnabled = true
        task = UIApplication.shared.beginBackgroundTask(withName: "Saving") { self.end() }
    }

    func end() {
        if UIApplication.shared.delegate == nil { UIApplication.shared.endBackgroundTask(task) }
        task = .invalid
    }
}

private class LegacyDelegate: UIResponder, UIApplicationDelegate {
    var window: UIWindow?
    let manager: AppManager

    required init() {
        manager = AppManager()
        super.init()
    }
}

func alone() async {
    await situation("the app used in Swift 5 outside the main actor") {
        let manager = await MainActor.run { LegacyDelegate().manager }
        DispatchQueue.main.async {
            manager.save()
            manager.end()
        }
        try expectEqual(await MainActor.run { manager.state == .background }, false)
    }
    await situation("Swift 5 with one import") {
        let manager = LegacyManager()
        let text = Outcome<String>("a text")
        manager.onText = { text.give($0) }
        manager.connect(Origin.identifier("legacy"))
        manager.session?.downloadTask(with: Origin.file("legacy")).resume()
        try expectEqual(try await text.value(), Origin.text(of: "legacy"))
        manager.session?.finishTasksAndInvalidate()
    }
}
