public import Foundation
public import Nightshift

// Members of UIKit's application about the screen and the lock, which belong to the desktop here: code that sets them compiles.

@MainActor private var keptIdleTimer = false
@MainActor private var keptActivityIndicator = false

extension Application {
    /// Kept without an effect: the desktop decides when the screen goes dark.
    @preconcurrency public var isIdleTimerDisabled: Bool {
        get { keptIdleTimer }
        set { keptIdleTimer = newValue }
    }

    /// Kept without an effect: nothing shows it.
    @preconcurrency public var isNetworkActivityIndicatorVisible: Bool {
        get { keptActivityIndicator }
        set { keptActivityIndicator = newValue }
    }

    /// True: files of a user who has logged in can be read, also while the screen is locked.
    @preconcurrency public var isProtectedDataAvailable: Bool { true }

    /// Never posted, as ``isProtectedDataAvailable`` never changes.
    public nonisolated static let protectedDataDidBecomeAvailableNotification = Notification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable")
    /// Never posted, as ``isProtectedDataAvailable`` never changes.
    public nonisolated static let protectedDataWillBecomeUnavailableNotification = Notification.Name(
        "UIApplicationProtectedDataWillBecomeUnavailable")
    /// Never posted: the service does not tell of midnight or of clocks that are set.
    public nonisolated static let significantTimeChangeNotification = Notification.Name(
        "UIApplicationSignificantTimeChangeNotification")
}
