import NightshiftAPI

/// What came of a background fetch; UIKit's `UIBackgroundFetchResult`.
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

/// Whether the app is refreshed in the background; UIKit's `UIBackgroundRefreshStatus`.
public enum BackgroundRefreshStatus: Int, Sendable {
    /// It is not, and its user cannot change that: its desktop entry declares no mode for it, or there is no service.
    case restricted = 0
    /// Its user has switched it off, for this app or for all.
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
