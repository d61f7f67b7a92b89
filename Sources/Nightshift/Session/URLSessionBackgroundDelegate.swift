public import FoundationNetworking

/// A delegate that is notified when a relaunched app has received all messages of a session.
///
/// On Apple's systems `urlSessionDidFinishEvents(forBackgroundURLSession:)` is an optional method of
/// `URLSessionDelegate`. Without the Objective-C runtime, a delegate has to declare this conformance, which takes one
/// line.
public protocol URLSessionBackgroundDelegate: URLSessionDelegate {
    /// Called on the session's delegate queue when all events that were waiting at
    /// `handleEventsForBackgroundURLSession` have been delivered. Call the completion handler of that method now.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
}

/// A delegate that is asked before a task with an `earliestBeginDate` begins.
///
/// `URLSessionTaskDelegate` declares `urlSession(_:task:willBeginDelayedRequest:completionHandler:)` with a default
/// that never answers. The library therefore cannot see whether a class implements the method. Conformance to this
/// protocol says that it does. Asking may require a launch of the app.
public protocol URLSessionDelayedRequestDelegate: URLSessionTaskDelegate {}
