package import NightshiftAPI
import Store

/// Inputs from the desktop, which knows whose windows are in front.
extension AppMachine {
    /// A window of its process is in front, or none is any more.
    ///
    /// The desktop's word counts for an app that does not say itself when it comes to the front, and from the first window
    /// on that was seen there: a program that has none is not in the background because another one's is in front.
    package mutating func desktopShows(inFront: Bool, now: ClockReading) -> [AppAction] {
        guard record.process != nil, !isCommand, !windows.areToldByApp, ending == nil else { return [] }
        guard inFront else { return windows.haveBeenInFront ? sendToBackground(now: now) : [] }
        if !windows.haveBeenInFront { windows.haveBeenInFront = true }
        return bringToFront(now: now)
    }

    /// Whether ``desktopShows(inFront:now:)`` with false is anything to it.
    package var isShownByDesktop: Bool {
        record.process != nil && windows.haveBeenInFront && (record.state == .active || record.state == .inactive)
    }
}
