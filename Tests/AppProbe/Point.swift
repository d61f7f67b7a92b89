/// A point in a probe's life at which orders are executed.
package enum Point: String, Sendable, Codable {
    /// In `didFinishLaunching` in the foreground, after the sessions were made.
    case launched
    /// In `didFinishLaunching` in the background, after the sessions were made.
    case launchedInBackground
    /// After every transfer of ``launched`` was resumed.
    case begun
    case active
    case background
    case handleEvents
    /// In `performFetchWithCompletionHandler`.
    case fetching
    /// In `didReceiveRemoteNotification`.
    case received
    /// In `userNotificationCenter(_:didReceive:withCompletionHandler:)`.
    case responding
    /// In the launch handler of a scheduled task.
    case running
    /// In `didEnterRegion` or `didExitRegion`.
    case crossed
    /// In `didUpdateLocations`.
    case located
    case progress
    /// In `didFinishDownloadingTo`, before the file is moved.
    case finishing
    /// In `didFinishDownloadingTo`, after the file is moved.
    case moved
    /// In `didCompleteWithError`.
    case completed
    case challenged
    /// In `willBeginDelayedRequest`, before it is answered.
    case delayed
    case finishedEvents
}
