public import Foundation
public import FoundationNetworking

/// The methods that Apple's systems have had since iOS 17 and FoundationNetworking lacks.
extension URLSessionUploadTask {
    /// Cancels the upload, and keeps the data that the server has received.
    ///
    /// - Parameter completionHandler: A handler that is called on the delegate queue with resume data for
    ///   `uploadTask(withResumeData:)`. It gets nil if the server does not support resuming this upload, and for every
    ///   task that does not belong to a background session.
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let task = self as? BackgroundUploadTask else {
            cancel()
            return completionHandler(nil)
        }
        task.core.cancel(byProducingResumeData: completionHandler)
    }

    /// Cancels the upload, and returns its resume data. Returns nil if the upload cannot be continued.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
    }
}

extension URLSession {
    /// Makes an upload task of a background session that continues the cancelled upload of `resumeData`. The task is
    /// suspended until you call its `resume()` method.
    ///
    /// The upload fails if its file is missing or modified, unless the service has a copy of the file. If the server
    /// has lost the data that it received, the upload restarts. If this library did not make the resume data, or the
    /// data was already used, the task fails with `NSURLErrorUnsupportedURL`.
    public func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask {
        guard let session = self as? BackgroundURLSession else {
            fatalError("Only background sessions of Nightshift can continue uploads.")
        }
        return session.upload(continuing: resumeData)
    }
}
