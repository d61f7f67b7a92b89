public import Foundation
public import FoundationNetworking

extension URLSessionDownloadTask {
    /// Cancels the download, and returns its resume data. Returns nil if the download cannot be continued.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
    }
}
