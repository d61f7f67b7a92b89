import Foundation

// Code as in projects for iOS: a singleton, handlers by task, and the completion handler of the launch that is kept for
// later. No module of this project is named in this folder. The target's flags import Nightshift in files that import
// only Foundation.

final class DownloadManager: NSObject, @unchecked Sendable {
    static let shared = DownloadManager()

    var backgroundCompletionHandler: (() -> Void)?
    private var completions: [Int: (Result<String, Error>) -> Void] = [:]
    private let lock = NSLock()

    private lazy var session: URLSession = {
        let configuration = URLSessionConfiguration.background(
            withIdentifier: "com.example.downloads-\(ProcessInfo.processInfo.processIdentifier)")
        configuration.sessionSendsLaunchEvents = true
        configuration.isDiscretionary = false
        configuration.timeoutIntervalForResource = 300
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }()

    func download(_ url: URL, completion: @escaping (Result<String, Error>) -> Void) {
        let task = session.downloadTask(with: url)
        lock.lock()
        completions[task.taskIdentifier] = completion
        lock.unlock()
        task.resume()
    }

    var isInBackground: Bool { session.configuration.identifier?.hasPrefix("com.example.downloads") == true }

    private func finish(_ task: URLSessionTask, _ result: Result<String, Error>) {
        lock.lock()
        let completion = completions.removeValue(forKey: task.taskIdentifier)
        lock.unlock()
        DispatchQueue.main.async { completion?(result) }
    }
}

extension DownloadManager: URLSessionDownloadDelegate {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        finish(downloadTask, Result { try String(contentsOf: location, encoding: .utf8) })
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        if let error { finish(task, .failure(error)) }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        DispatchQueue.main.async {
            self.backgroundCompletionHandler?()
            self.backgroundCompletionHandler = nil
        }
    }
}
