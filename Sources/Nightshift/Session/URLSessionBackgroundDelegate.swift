public import FoundationNetworking

/// A delegate that wants to know when a relaunched app has got all messages of a session.
///
/// On Apple's systems `urlSessionDidFinishEvents(forBackgroundURLSession:)` is an optional method of `URLSessionDelegate`. Without
/// the Objective-C runtime it takes this conformance: one line for each delegate.
public protocol URLSessionBackgroundDelegate: URLSessionDelegate {
    /// Everything that had come for the session before `handleEventsForBackgroundURLSession` has been delivered: the time to
    /// call the completion handler from there. On the session's delegate queue.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
}

/// A delegate that wants to be asked before a task with an `earliestBeginDate` begins.
///
/// `urlSession(_:task:willBeginDelayedRequest:completionHandler:)` is declared by `URLSessionTaskDelegate`, with a default that never
/// answers, so that a class does not show whether it has one of its own: conforming to this protocol does. Being asked may
/// cost a launch of the app.
public protocol URLSessionDelayedRequestDelegate: URLSessionTaskDelegate {}
