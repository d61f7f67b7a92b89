import Foundation
public import FoundationNetworking

extension URLSessionDownloadTask {
    /// Gives a download of a background session another URL, and keeps the bytes that have come: for one that has expired, or
    /// whose file another server has as well.
    ///
    /// The bytes are kept where the same strong entity tag proves that they belong to the file there; otherwise its length has
    /// to agree, and the last 64 KiB here are fetched again and compared. What is not proven begins again. Header fields
    /// of `request` take the place of those the task had; where it has none they stay, secret ones within the same scheme, host
    /// and port only.
    ///
    /// The task keeps its identifier, and whether it is suspended. One that has failed is gone: make another from its
    /// resume data, and retarget that before it is resumed.
    ///
    /// - Throws: `URLError`: `unsupportedURL` for a task of another session or a URL that cannot be transferred, `cancelled` for one
    ///   that has ended, `backgroundSessionWasDisconnected` where the service cannot be reached, the code of what is
    ///   wrong, with a description, where it refuses.
    public func retarget(to request: URLRequest) async throws {
        guard let task = self as? BackgroundDownloadTask else {
            throw URLError.make(NSURLErrorUnsupportedURL, "Only downloads of background sessions can be retargeted.")
        }
        try await task.core.session.retarget(task.core, to: request)
    }
}
