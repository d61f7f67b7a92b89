public import FoundationNetworking

/// A delegate that is notified when a relaunched app has received all messages of a session.
///
/// On Apple's systems `urlSessionDidFinishEvents(forBackgroundURLSession:)` is an optional method of
/// `URLSessionDelegate`. On Linux, Swift cannot call optional methods, because there is no Objective-C runtime. A
/// delegate that implements the method must therefore declare conformance to this protocol.
public protocol URLSessionBackgroundDelegate: URLSessionDelegate {
    /// Called on the session's delegate queue when all events that were waiting at
    /// `handleEventsForBackgroundURLSession` have been delivered. Call the completion handler of that method now.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
}

/// A delegate that is asked before a task with an `earliestBeginDate` begins.
///
/// `URLSessionTaskDelegate` declares `urlSession(_:task:willBeginDelayedRequest:completionHandler:)` with a default
/// implementation that never answers. The library therefore cannot see whether a class implements the method. A class
/// that conforms to this protocol declares that it implements the method. To ask the delegate, the service may have to
/// launch the app.
public protocol URLSessionDelayedRequestDelegate: URLSessionTaskDelegate {}
