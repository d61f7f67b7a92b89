import NightshiftAPI

/// Whether the app may learn where the device is.
public enum CLAuthorizationStatus: Int32, Sendable {
    /// Its user was not asked yet, or has not answered.
    case notDetermined = 0
    /// It may not, and its user cannot change that: the app has no desktop entry.
    case restricted = 1
    case denied = 2
    case authorizedAlways = 3
    /// While its user sees it. Nothing wakes it.
    case authorizedWhenInUse = 4

    init(_ permission: LocationPermission?) {
        self =
            switch permission {
            case .ask, nil: .notDetermined
            case .denied: .denied
            case .whenInUse: .authorizedWhenInUse
            case .always: .authorizedAlways
            }
    }
}

/// How exactly the app is told where the device is: always as exactly as it is known.
public enum CLAccuracyAuthorization: Int, Sendable {
    case fullAccuracy = 0
    case reducedAccuracy = 1
}

/// What the app's user is doing; kept, and without an effect.
public enum CLActivityType: Int, Sendable {
    case other = 1
    case automotiveNavigation = 2
    case fitness = 3
    case otherNavigation = 4
    case airborne = 5
}
