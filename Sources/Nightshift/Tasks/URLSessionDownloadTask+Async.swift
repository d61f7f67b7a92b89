public import Foundation
public import FoundationNetworking

extension URLSessionDownloadTask {
    /// Cancels, and returns what the download can be continued from, or nil where it cannot.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
    }
}
