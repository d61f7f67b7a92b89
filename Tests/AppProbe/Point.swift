/// A point in a probe's life at which orders are executed.
package enum Point: String, Sendable, Codable {
    /// During the delegate call `didFinishLaunching` in the foreground, after the sessions were made.
    case launched
    /// During the delegate call `didFinishLaunching` in the background, after the sessions were made.
    case launchedInBackground
    /// After the probe has resumed every transfer of ``launched``.
    case begun
    case active
    case background
    case handleEvents
    /// During the delegate call `performFetchWithCompletionHandler`.
    case fetching
    /// During the delegate call `didReceiveRemoteNotification`.
    case received
    /// During the delegate call `userNotificationCenter(_:didReceive:withCompletionHandler:)`.
    case responding
    /// During the launch handler of a scheduled task.
    case running
    /// During the delegate call `didEnterRegion` or `didExitRegion`.
    case crossed
    /// During the delegate call `didUpdateLocations`.
    case located
    case progress
    /// During the delegate call `didFinishDownloadingTo`, before the file is moved.
    case finishing
    /// During the delegate call `didFinishDownloadingTo`, after the file is moved.
    case moved
    /// During the delegate call `didCompleteWithError`.
    case completed
    case challenged
    /// During the delegate call `willBeginDelayedRequest`, before it is answered.
    case delayed
    case finishedEvents
}
