public import FoundationNetworking

extension URLSession {
    /// Every task that has not ended.
    public var allTasks: [URLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in
                getAllTasks { continuation.resume(returning: $0) }
            }
        }
    }

    /// As `flush(completionHandler:)`: gives the service the tasks that were never resumed.
    public func flush() async {
        await withCheckedContinuation { continuation in
            flush { continuation.resume() }
        }
    }

    /// As `reset(completionHandler:)`: empties the session's cookie and credential stores, and flushes.
    public func reset() async {
        await withCheckedContinuation { continuation in
            reset { continuation.resume() }
        }
    }

    /// The tasks that have not ended: data, upload and download tasks.
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await withCheckedContinuation { continuation in
                getTasksWithCompletionHandler { data, uploads, downloads in
                    continuation.resume(returning: (data, uploads, downloads))
                }
            }
        }
    }
}
