extension Application.LaunchOptionsKey {
    /// `true` where the app was launched for a crossing or a significant change; what it is, a ``CLLocationManager``'s
    /// delegate hears. The name is UIKit's.
    public static let location = Self(rawValue: "UIApplicationLaunchOptionsLocationKey")
}

extension Application {
    /// What the service has launched the app for is in its environment.
    static func isLaunchedForLocation(_ environment: [String: String]) -> Bool {
        guard environment["NIGHTSHIFT_LAUNCH"] == "background" else { return false }
        let reasons = environment["NIGHTSHIFT_WAKE"]?.split(separator: ",") ?? []
        return reasons.contains("region") || reasons.contains("significantChange")
    }
}
