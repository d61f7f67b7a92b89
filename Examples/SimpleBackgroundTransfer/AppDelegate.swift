import Foundation
import Nightshift

/// An app with one background session that downloads one large file and saves it.
///
/// Run the app as `nightshift app launch org.example.SimpleBackgroundTransfer -- URL`. Send it to the background, kill
/// it, or reboot the device. The download continues, and the app is launched when the download is complete.
@main final class AppDelegate: ApplicationDelegate {
    let transfer = Transfer()

    init() {}

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        let isBackgroundLaunch = launchOptions?[.isBackgroundLaunch] != nil
        say("launched\(isBackgroundLaunch ? " in the background" : "")")
        // Every launch uses the same identifier, so missed delegate messages are delivered automatically.
        transfer.connect()
        if let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text), !isBackgroundLaunch {
            transfer.download(url)
        }
        return true
    }

    func applicationDidBecomeActive(_ application: Application) { say("active") }

    func applicationDidEnterBackground(_ application: Application) { say("in the background") }

    func applicationWillEnterForeground(_ application: Application) { say("coming to the foreground") }

    func applicationWillTerminate(_ application: Application) { say("leaving") }

    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        say("events for \(identifier)")
        transfer.completeWhenFinished(completionHandler)
    }

    /// Returns the picture for an app switcher. The picture shows how much of the file has been downloaded.
    func applicationSnapshot(_ application: Application) -> Data? {
        Picture(progress: transfer.fractionCompleted).png
    }
}

/// Writes one line to the app's log, which `nightshift app log ID` shows.
func say(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
}
