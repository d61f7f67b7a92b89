package import NightshiftAPI
package import Store

/// The conditions under which new tasks of the app start.
extension AppRecord {
    /// Whether the app runs in the background or is suspended.
    package var isInBackground: Bool { state == .background || state == .suspended }

    /// Whether the app runs in the foreground.
    var isInFront: Bool { process != nil && (state == .active || state == .inactive) }

    /// The time, in seconds since 1970, until which tasks that the app adds in the background do not start; nil if they
    /// may start.
    package func startsPausedUntil(now: ClockReading) -> Double? {
        guard isInBackground, startDelay > 0 else { return nil }
        return AppMachine.end(of: startDelay, from: startDelayFrom, now: now)
    }

    /// Whether the user has force-quit the app and its process is gone. The app's transfers are then cancelled, and it
    /// cannot add new ones.
    package var hasBeenForceQuit: Bool { isForceQuit && process == nil }
}
