extension Application.LaunchOptionsKey {
    /// The key of a value that is `true` if the app was launched for a region event or a significant change. The
    /// delegate of a ``CLLocationManager`` receives the event. The name of the key is the same as in UIKit.
    public static let location = Self(rawValue: "UIApplicationLaunchOptionsLocationKey")
}

extension Application {
    /// Returns whether the environment variables show that the service launched the app for a location event.
    static func isLaunchedForLocation(_ environment: [String: String]) -> Bool {
        guard environment["NIGHTSHIFT_LAUNCH"] == "background" else { return false }
        let reasons = environment["NIGHTSHIFT_WAKE"]?.split(separator: ",") ?? []
        return reasons.contains("region") || reasons.contains("significantChange")
    }
}
