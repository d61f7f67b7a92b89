public import FoundationNetworking

extension URLSession {
    /// All tasks that have not ended.
    public var allTasks: [URLSessionTask] {
        get async {
            await withCheckedContinuation { continuation in
                getAllTasks { continuation.resume(returning: $0) }
            }
        }
    }

    /// The asynchronous form of `flush(completionHandler:)`, which sends the tasks that were never resumed to the
    /// service.
    public func flush() async {
        await withCheckedContinuation { continuation in
            flush { continuation.resume() }
        }
    }

    /// The asynchronous form of `reset(completionHandler:)`, which empties the session's cookie and credential stores
    /// and then flushes the session.
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
