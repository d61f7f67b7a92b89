package import NightshiftAPI
import Store

/// Inputs from the desktop, which reports the window with the focus.
extension AppMachine {
    /// Handles a report that a window of the process got the focus or that none of its windows has it.
    ///
    /// The report counts only for an app that does not report its own state, and only after one of its windows has had
    /// the focus. Otherwise, a program without windows would move to the background whenever another program's window
    /// has the focus.
    package mutating func desktopShows(inFront: Bool, now: ClockReading) -> [AppAction] {
        guard record.process != nil, !isCommand, !windows.areToldByApp, ending == nil else { return [] }
        guard inFront else { return windows.haveBeenInFront ? sendToBackground(now: now) : [] }
        if !windows.haveBeenInFront { windows.haveBeenInFront = true }
        return bringToFront(now: now)
    }

    /// Whether a call to ``desktopShows(inFront:now:)`` with false has an effect.
    package var isShownByDesktop: Bool {
        record.process != nil && windows.haveBeenInFront && (record.state == .active || record.state == .inactive)
    }
}
