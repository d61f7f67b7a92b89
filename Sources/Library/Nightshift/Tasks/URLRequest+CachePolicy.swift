import Foundation
import FoundationNetworking

extension URLRequest {
    /// Returns whether the request may only be answered from a cache. If the request has no policy of its own, its
    /// session's policy applies.
    func isForCacheOnly(in configuration: URLSessionConfiguration) -> Bool {
        let policy = cachePolicy == .useProtocolCachePolicy ? configuration.requestCachePolicy : cachePolicy
        return policy == .returnCacheDataDontLoad
    }
}

extension URLError {
    /// Returns the error of a request that may only be answered from a cache. Background sessions have no cache. Apple
    /// documents that such a load fails (`NSURLRequest.CachePolicy.returnCacheDataDontLoad`). The code is the one that
    /// Apple's sessions return.
    static func notInCache(_ url: URL?) -> URLError {
        make(
            NSURLErrorResourceUnavailable,
            "The request may only be answered from a cache, and this session has no cache.", url: url
        )
    }
}
