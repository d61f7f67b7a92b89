import Foundation
import Nightshift
import Synchronization

/// The background session and its delegate. They behave as on iOS.
final class Transfer: NSObject, URLSessionDownloadDelegate, URLSessionBackgroundDelegate, Sendable {
    static let identifier = "org.example.SimpleBackgroundTransfer.session"

    private struct State {
        var session: URLSession?
        var completionHandler: (@Sendable () -> Void)?
        var fractionCompleted = 0.0
        var lastPercent = -1
    }

    private let state = Mutex(State())

    /// The folder to which the finished file is moved.
    private let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
        .appending(path: "SimpleBackgroundTransfer")

    var fractionCompleted: Double { state.withLock { $0.fractionCompleted } }

    func connect() {
        let session = URLSession(
            configuration: .background(withIdentifier: Self.identifier), delegate: self, delegateQueue: nil)
        state.withLock { $0.session = session }
    }

    func download(_ url: URL) {
        guard let session = state.withLock({ $0.session }) else { return }
        session.getAllTasks { [self] tasks in
            guard tasks.isEmpty else { return say("still downloading") }
            start(url, in: session)
        }
    }

    private func start(_ url: URL, in session: URLSession) {
        let task = session.downloadTask(with: url)
        task.taskDescription = url.lastPathComponent
        task.resume()
        say("started \(url.lastPathComponent) as task \(task.taskIdentifier)")
    }

    func completeWhenFinished(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.completionHandler = handler }
    }

    // MARK: - URLSessionDownloadDelegate

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        guard totalBytesExpectedToWrite > 0 else { return }
        let fraction = Double(totalBytesWritten) / Double(totalBytesExpectedToWrite)
        let percent = Int(fraction * 100)
        let isNew = state.withLock { state in
            state.fractionCompleted = fraction
            defer { state.lastPercent = percent }
            return state.lastPercent != percent
        }
        if isNew { say("\(percent) %") }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        // The temporary file is deleted when this method returns.
        let name = downloadTask.taskDescription ?? "download"
        let target = folder.appending(path: name)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            _ = try? FileManager.default.removeItem(at: target)
            try FileManager.default.moveItem(at: location, to: target)
            say("moved \(name) to \(target.path(percentEncoded: false))")
        } catch {
            say("could not save \(name): \(error.localizedDescription)")
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error {
            say("task \(task.taskIdentifier) failed: \(error.localizedDescription)")
        } else {
            state.withLock { $0.fractionCompleted = 1 }
            say("task \(task.taskIdentifier) completed")
        }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        say("all events handled")
        let handler = state.withLock { state in
            defer { state.completionHandler = nil }
            return state.completionHandler
        }
        handler?()
    }
}
