package import NightshiftAPI
import Store

/// Inputs from the desktop, which knows which windows have the focus.
extension AppMachine {
    /// A window of the process got the focus, or none has it any longer.
    ///
    /// This counts only for an app that does not report its own state, and only after one of its windows has had the
    /// focus: a program without windows is not in the background because another program's window has the focus.
    package mutating func desktopShows(inFront: Bool, now: ClockReading) -> [AppAction] {
        guard record.process != nil, !isCommand, !windows.areToldByApp, ending == nil else { return [] }
        guard inFront else { return windows.haveBeenInFront ? sendToBackground(now: now) : [] }
        if !windows.haveBeenInFront { windows.haveBeenInFront = true }
        return bringToFront(now: now)
    }

    /// Whether ``desktopShows(inFront:now:)`` with false has an effect.
    package var isShownByDesktop: Bool {
        record.process != nil && windows.haveBeenInFront && (record.state == .active || record.state == .inactive)
    }
}
