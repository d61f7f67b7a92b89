import Foundation
import Nightshift

/// The app: one background session, one large download, one file that it keeps.
///
/// Run as `nightshift app launch org.example.SimpleBackgroundTransfer -- URL`. Send it to the background, kill it, reboot:
/// the download goes on, and the app is launched when it is whole.
@main final class AppDelegate: ApplicationDelegate {
    let transfer = Transfer()

    init() {}

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        let isBackgroundLaunch = launchOptions?[.isBackgroundLaunch] != nil
        say("launched\(isBackgroundLaunch ? " in the background" : "")")
        // The same identifier in every launch: messages that were missed come by themselves.
        transfer.connect()
        if let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text), !isBackgroundLaunch {
            transfer.download(url)
        }
        return true
    }

    func applicationDidBecomeActive(_ application: Application) { say("active") }

    func applicationDidEnterBackground(_ application: Application) { say("in the background") }

    func applicationWillEnterForeground(_ application: Application) { say("coming to the front") }

    func applicationWillTerminate(_ application: Application) { say("leaving") }

    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        say("events for \(identifier)")
        transfer.completeWhenFinished(completionHandler)
    }

    /// What an app switcher shows: how much of the file is here.
    func applicationSnapshot(_ application: Application) -> Data? {
        Picture(progress: transfer.fractionCompleted).png
    }
}

/// One line of the app's log: `nightshift app log ID` shows them.
func say(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
}
