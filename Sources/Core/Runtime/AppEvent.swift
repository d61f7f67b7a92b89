package import NightshiftAPI

/// An event of an app that the other parts of the service act on.
package enum AppEvent: Hashable, Sendable {
    /// The app came to the foreground or left it.
    case use(isInFront: Bool)
    /// The user has force-quit the app. No part may wake it before the user starts it.
    case forceQuit
    /// The user, or another program, has launched the app in the foreground.
    case launched
    /// The app's process was suspended, and so needs no notices, or it runs again.
    case suspended(Bool)
    /// The app's desktop entry was installed or changed, with its new content; nil if it was removed.
    case installed(AppManifest?)
    /// Ends of wakes are on disk. The parts read them from the store.
    case wakesEnded
}
