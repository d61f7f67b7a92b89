public import Foundation
public import Nightshift

// Members of UIKit's application that concern the screen and the lock. The desktop controls both, so the members have
// no effect and exist to let code compile.

@MainActor private var keptIdleTimer = false
@MainActor private var keptActivityIndicator = false

extension Application {
    /// This value is stored without effect, because the desktop decides when the screen turns off.
    @preconcurrency public var isIdleTimerDisabled: Bool {
        get { keptIdleTimer }
        set { keptIdleTimer = newValue }
    }

    /// This value is stored without effect, because there is no indicator.
    @preconcurrency public var isNetworkActivityIndicatorVisible: Bool {
        get { keptActivityIndicator }
        set { keptActivityIndicator = newValue }
    }

    /// Always true, because the files of a user who has logged in can also be read while the screen is locked.
    @preconcurrency public var isProtectedDataAvailable: Bool { true }

    /// Never posted, because ``isProtectedDataAvailable`` never changes.
    public nonisolated static let protectedDataDidBecomeAvailableNotification = Notification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable")
    /// Never posted, because ``isProtectedDataAvailable`` never changes.
    public nonisolated static let protectedDataWillBecomeUnavailableNotification = Notification.Name(
        "UIApplicationProtectedDataWillBecomeUnavailable")
    /// Never posted, because the service does not report midnight or changes of the clock.
    public nonisolated static let significantTimeChangeNotification = Notification.Name(
        "UIApplicationSignificantTimeChangeNotification")
}
