import Foundation
import Nightshift
import Synchronization

/// An app for measurements. `bench-app URL COUNT` adds COUNT downloads of URL when it enters the foreground and none is
/// running. It prints the delegate calls for downloads and pushes.
@main final class BenchApp: ApplicationDelegate {
    private let listener = Listener()
    private var session: URLSession?

    init() {}

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        session = URLSession(
            configuration: .background(withIdentifier: "bench"), delegate: listener, delegateQueue: nil)
        return true
    }

    func applicationDidBecomeActive(_ application: Application) {
        let arguments = CommandLine.arguments
        guard let session, arguments.count == 3, let count = Int(arguments[2]) else { return }
        session.getAllTasks { tasks in
            guard tasks.isEmpty else { return }
            let start = Date.now
            for index in 0..<count {
                guard let url = URL(string: "\(arguments[1])?\(index)") else { return }
                let task = session.downloadTask(with: url)
                // This delays the start, so that many downloads end while the app is not running.
                if count > 1 { task.earliestBeginDate = start.addingTimeInterval(20) }
                task.resume()
            }
            say("added \(count) in \(Date.now.timeIntervalSince(start))")
        }
    }

    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        listener.complete(completionHandler)
    }

    func application(
        _ application: Application, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void
    ) {
        let now = Date.now.timeIntervalSince1970
        say("pushed \((userInfo["note"] as? Int) ?? -1) \(now)")
        completionHandler(.newData)
    }
}

final class Listener: NSObject, URLSessionDownloadDelegate, URLSessionBackgroundDelegate, Sendable {
    private struct State {
        var completion: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func complete(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.completion = handler }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        // The file was last modified when its last byte was written. The time since then is the app's delay.
        let written = (try? FileManager.default.attributesOfItem(atPath: location.path))?[.modificationDate] as? Date
        say("finished \(written.map { Date.now.timeIntervalSince($0) } ?? -1)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        say("completed \(Date.now.timeIntervalSince1970)")
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        let handler = state.withLock { state in
            defer { state.completion = nil }
            return state.completion
        }
        handler?()
    }
}

func say(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
}
