/// A moment in a probe's life.
package enum Point: String, Sendable, Codable {
    /// In `didFinishLaunching`, its sessions made; in the foreground.
    case launched
    /// The same in the background.
    case launchedInBackground
    /// Every transfer of ``launched`` has been resumed.
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
    /// In `didFinishDownloadingTo`, after it.
    case moved
    /// In `didCompleteWithError`.
    case completed
    case challenged
    /// In `willBeginDelayedRequest`, before it is answered.
    case delayed
    case finishedEvents
}
