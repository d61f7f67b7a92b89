import NightshiftAPI

/// The permission of the app to use the device's location.
public enum CLAuthorizationStatus: Int32, Sendable {
    /// The status if the user has not been asked yet, or has not answered.
    case notDetermined = 0
    /// The status if the app must not use the location because it has no desktop entry. The user cannot change this
    /// status.
    case restricted = 1
    case denied = 2
    case authorizedAlways = 3
    /// The status if the app may use the location while the user sees the app. Location events do not wake the app.
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

/// The accuracy of locations for the app. It is always full.
public enum CLAccuracyAuthorization: Int, Sendable {
    case fullAccuracy = 0
    case reducedAccuracy = 1
}

/// The activity of the user. The value is stored, but has no effect.
public enum CLActivityType: Int, Sendable {
    case other = 1
    case automotiveNavigation = 2
    case fitness = 3
    case otherNavigation = 4
    case airborne = 5
}
