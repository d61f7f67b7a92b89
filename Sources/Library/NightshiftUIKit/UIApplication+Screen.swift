public import Foundation
public import Nightshift

// This file declares members of UIKit's application that concern the screen and the lock. They have no effect, because
// the desktop controls the screen and the lock. They exist so that code compiles.

@MainActor private var keptIdleTimer = false
@MainActor private var keptActivityIndicator = false

extension Application {
    /// A value that is stored without effect, because the desktop decides when the screen turns off.
    @preconcurrency public var isIdleTimerDisabled: Bool {
        get { keptIdleTimer }
        set { keptIdleTimer = newValue }
    }

    /// A value that is stored without effect, because there is no network activity indicator.
    @preconcurrency public var isNetworkActivityIndicatorVisible: Bool {
        get { keptActivityIndicator }
        set { keptActivityIndicator = newValue }
    }

    /// Whether protected files can be read. This is always true, because the files of a user who has logged in can also
    /// be read while the screen is locked.
    @preconcurrency public var isProtectedDataAvailable: Bool { true }

    /// A notification that is never posted, because ``isProtectedDataAvailable`` never changes.
    public nonisolated static let protectedDataDidBecomeAvailableNotification = Notification.Name(
        "UIApplicationProtectedDataDidBecomeAvailable")
    /// A notification that is never posted, because ``isProtectedDataAvailable`` never changes.
    public nonisolated static let protectedDataWillBecomeUnavailableNotification = Notification.Name(
        "UIApplicationProtectedDataWillBecomeUnavailable")
    /// A notification that is never posted, because the service does not report midnight or changes of the clock.
    public nonisolated static let significantTimeChangeNotification = Notification.Name(
        "UIApplicationSignificantTimeChangeNotification")
}
