import Foundation
import FoundationNetworking

/// A protocol class that stops requests which FoundationNetworking would otherwise load in this process. The
/// asynchronous convenience methods of `URLSession` cause such requests, because they do not call the methods of the
/// subclass.
final class InProcessLoading: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool {
        fatalError(SessionRefusal.completionHandler)
    }

    override class func canInit(with task: URLSessionTask) -> Bool {
        fatalError(SessionRefusal.completionHandler)
    }
}
