import Foundation
public import FoundationNetworking

extension URLSessionDownloadTask {
    /// Replaces the URL of a download of a background session, and keeps the received bytes. Use this method if the URL
    /// has expired, or if another server has the same file.
    ///
    /// The bytes are kept if the same strong entity tag proves that they belong to the file at the new URL. Otherwise
    /// the length has to match, and the last 64 KiB are fetched again and compared. If the bytes cannot be verified in
    /// either way, the download restarts. Header fields of `request` replace the fields of the task with the same
    /// names. The task's other fields are kept, but fields with secrets are kept only if the scheme, host and port stay
    /// the same.
    ///
    /// The task keeps its identifier, and remains suspended or running. A task that has failed no longer exists: make
    /// another task from its resume data, and retarget that task before you resume it.
    ///
    /// - Throws: A `URLError`. Its code is `unsupportedURL` for a task of another session or a URL that cannot be
    ///   transferred, `cancelled` for a task that has ended, and `backgroundSessionWasDisconnected` if the service
    ///   cannot be reached. If the service refuses, the code and the description say why.
    public func retarget(to request: URLRequest) async throws {
        guard let task = self as? BackgroundDownloadTask else {
            throw URLError.make(NSURLErrorUnsupportedURL, "Only downloads of background sessions can be retargeted.")
        }
        try await task.core.session.retarget(task.core, to: request)
    }
}
