import Foundation
import Nightshift
import Synchronization

/// A queue of many downloads in one background session. Pass in URLs, and receive percentages and files on the main
/// thread.
///
/// A relaunched app creates the queue again with the same identifier. The queue then receives the progress of running
/// downloads, and the files of downloads that ended in the meantime.
public final class DownloadQueue: NSObject, Sendable {
    /// The handlers of a queue, which are called on the main thread.
    public struct Handlers: Sendable {
        /// A handler for the progress from 0 to 100. It is called whenever the whole number changes.
        public var progress: @MainActor @Sendable (URL, Int) -> Void
        /// A handler for the end of a download. The temporary file is deleted when the handler returns, so move the
        /// file or read it.
        public var completion: @MainActor @Sendable (URL, Result<URL, any Error>) -> Void

        public init(
            progress: @escaping @MainActor @Sendable (URL, Int) -> Void,
            completion: @escaping @MainActor @Sendable (URL, Result<URL, any Error>) -> Void
        ) {
            self.progress = progress
            self.completion = completion
        }
    }

    private struct State {
        var session: URLSession?
        var percents: [URL: Int] = [:]
        var backgroundCompletion: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let handlers: Handlers

    public init(identifier: String, handlers: Handlers) {
        self.handlers = handlers
        super.init()
        let session = URLSession(
            configuration: .background(withIdentifier: identifier), delegate: self, delegateQueue: nil)
        state.withLock { $0.session = session }
    }

    /// Adds the URLs that are not being downloaded already.
    public func add(_ urls: [URL]) async {
        guard let session = state.withLock({ $0.session }) else { return }
        let known = Set(await session.allTasks.compactMap { $0.originalRequest?.url })
        for url in urls where !known.contains(url) { session.downloadTask(with: url).resume() }
    }

    /// The URLs that are being downloaded.
    public var pending: [URL] {
        get async {
            guard let session = state.withLock({ $0.session }) else { return [] }
            return await session.allTasks.compactMap { $0.originalRequest?.url }
        }
    }

    /// Sets the completion handler of `handleEventsForBackgroundURLSession`.
    public func completeWhenFinished(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.backgroundCompletion = handler }
    }

    private func report(_ body: @escaping @MainActor @Sendable () -> Void) {
        // Wait for the handler, because the session deletes its temporary file when the delegate returns.
        DispatchQueue.main.sync { MainActor.assumeIsolated(body) }
    }
}

extension DownloadQueue: URLSessionDownloadDelegate, URLSessionBackgroundDelegate {
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        guard totalBytesExpectedToWrite > 0, let url = downloadTask.originalRequest?.url else { return }
        let percent = Int(100 * totalBytesWritten / totalBytesExpectedToWrite)
        let isNew = state.withLock { state in
            defer { state.percents[url] = percent }
            return state.percents[url] != percent
        }
        if isNew { report { [handlers] in handlers.progress(url, percent) } }
    }

    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        guard let url = downloadTask.originalRequest?.url else { return }
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 200
        report { [handlers] in
            // The body of a response with another status, such as 404, is not the file.
            guard (200..<300).contains(status) else {
                return handlers.completion(url, .failure(URLError(.badServerResponse)))
            }
            handlers.completion(url, .success(location))
        }
    }

    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let url = task.originalRequest?.url else { return }
        state.withLock { $0.percents[url] = nil }
        guard let error else { return }
        report { [handlers] in handlers.completion(url, .failure(error)) }
    }

    public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        let handler = state.withLock { state in
            defer { state.backgroundCompletion = nil }
            return state.backgroundCompletion
        }
        handler?()
    }
}
