public import Foundation
public import FoundationNetworking

/// What Apple's systems have since iOS 17, and FoundationNetworking has not.
extension URLSessionUploadTask {
    /// Cancels, keeping what the server has of the upload.
    ///
    /// - Parameter completionHandler: called on the delegate queue with what `uploadTask(withResumeData:)` takes, or with nil
    ///   where the server does not let this upload be continued, as with every task that is not of a background session.
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let task = self as? BackgroundUploadTask else {
            cancel()
            return completionHandler(nil)
        }
        task.core.cancel(byProducingResumeData: completionHandler)
    }

    /// Cancels, and returns what the upload can be continued from, or nil where it cannot.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
    }
}

extension URLSession {
    /// A suspended upload that goes on where the one was cancelled that `resumeData` is from, in a background session.
    ///
    /// Its file has to be there and unmodified unless the service has a copy of it; otherwise the upload fails. Where the server has
    /// lost the upload it begins again. Data that this library has not made, or that was used already, fails with
    /// `NSURLErrorUnsupportedURL`.
    public func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask {
        guard let session = self as? BackgroundURLSession else {
            fatalError("Only background sessions of Nightshift can continue uploads.")
        }
        return session.upload(continuing: resumeData)
    }
}
