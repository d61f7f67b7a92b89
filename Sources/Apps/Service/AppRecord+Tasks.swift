package import NightshiftAPI
package import Store

/// On what terms tasks are accepted that the app adds now.
extension AppRecord {
    /// Whether the app is running, and its user does not see it.
    package var isInBackground: Bool { state == .background || state == .suspended }

    /// Whether its user sees it.
    var isInFront: Bool { process != nil && (state == .active || state == .inactive) }

    /// How long tasks that it adds in the background do not start, in seconds since 1970; nil where they may.
    package func startsPausedUntil(now: ClockReading) -> Double? {
        guard isInBackground, startDelay > 0 else { return nil }
        return AppMachine.end(of: startDelay, from: startDelayFrom, now: now)
    }

    /// Whether its user has force-quit it, and its process is gone: its transfers end, and it adds none.
    package var hasBeenForceQuit: Bool { isForceQuit && process == nil }
}
