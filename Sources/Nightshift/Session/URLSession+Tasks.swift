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
