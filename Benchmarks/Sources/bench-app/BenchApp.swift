import Foundation
import Nightshift
import Synchronization

/// An app for measurements. `bench-app URL COUNT` adds COUNT downloads of URL when it enters the foreground and none is
/// running. It prints the delegate calls for downloads and pushes.
@main final class BenchApp: ApplicationDelegate {
    private static let threads = 8
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
        let address = arguments[1]
        session.getAllTasks { tasks in
            guard tasks.isEmpty else { return }
            let start = Date.now
            let add = { @Sendable (index: Int) in
                guard let url = URL(string: "\(address)?\(index)") else { return }
                let task = session.downloadTask(with: url)
                // This delays the start, so that many downloads end while the app is not running.
                if count > 1 { task.earliestBeginDate = start.addingTimeInterval(20) }
                task.resume()
            }
            // Half of many downloads are added one after the other, and half by eight threads at once.
            let alone = (count + 1) / 2
            for index in 0..<alone { add(index) }
            let seconds = Date.now.timeIntervalSince(start)
            let second = Date.now
            let threads = DispatchGroup()
            for number in 0..<Self.threads where count > 1 {
                threads.enter()
                Thread.detachNewThread {
                    for index in stride(from: alone + number, to: count, by: Self.threads) { add(index) }
                    threads.leave()
                }
            }
            threads.wait()
            if count > 1 { say("concurrently \(count - alone) in \(Date.now.timeIntervalSince(second))") }
            say("added \(count), \(alone) in \(seconds)")
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
