import NightshiftAPI

/// The result of a background fetch. This type corresponds to UIKit's `UIBackgroundFetchResult`.
public enum BackgroundFetchResult: UInt, Sendable {
    case newData = 0
    case noData = 1
    case failed = 2

    var result: RefreshResult {
        switch self {
        case .newData: .newData
        case .noData: .noData
        case .failed: .failed
        }
    }
}

/// The availability of background refresh for an app. This type corresponds to UIKit's `UIBackgroundRefreshStatus`.
public enum BackgroundRefreshStatus: Int, Sendable {
    /// The status if the app is not refreshed and the user cannot change this. Either the app's desktop entry declares
    /// no mode for refresh, or no service is running.
    case restricted = 0
    /// The status if the user has disabled background refresh for this app or for all apps.
    case denied = 1
    case available = 2

    init(_ availability: RefreshAvailability?) {
        self =
            switch availability {
            case .restricted, nil: .restricted
            case .denied: .denied
            case .available: .available
            }
    }
}
