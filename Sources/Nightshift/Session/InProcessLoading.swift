import Foundation
import FoundationNetworking

/// Stands where FoundationNetworking would load a request itself: the asynchronous convenience methods of `URLSession` get there
/// without asking the subclass.
final class InProcessLoading: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool {
        fatalError(Refusal.completionHandler)
    }

    override class func canInit(with task: URLSessionTask) -> Bool {
        fatalError(Refusal.completionHandler)
    }
}
