import Foundation
import FoundationNetworking

extension URLRequest {
    /// Whether it may be answered from a cache only. A request that has no policy of its own has its session's.
    func isForCacheOnly(in configuration: URLSessionConfiguration) -> Bool {
        let policy = cachePolicy == .useProtocolCachePolicy ? configuration.requestCachePolicy : cachePolicy
        return policy == .returnCacheDataDontLoad
    }
}

extension URLError {
    /// A request that may be answered from a cache only fails: background sessions have no cache. Apple documents that such a load fails
    /// (`NSURLRequest.CachePolicy.returnCacheDataDontLoad`); the code is the one that its sessions give.
    static func notInCache(_ url: URL?) -> URLError {
        make(
            NSURLErrorResourceUnavailable,
            "The request may only be answered from a cache, and this session has no cache.", url: url
        )
    }
}
