import Foundation
import NightshiftAPI

/// A request for the timeline of the last seconds.
struct TimelineQuery: Hashable, Sendable {
    var seconds: Double
    /// The only app to draw; nil for all apps.
    var app: AppID?

    /// The longest timeline of the page in seconds: a year.
    private static let longest = 366.0 * 86_400

    init(seconds: Double, app: AppID? = nil) {
        self.seconds = seconds
        self.app = app
    }

    /// Reads a path with the parameters `seconds` and `app`, or returns nil if it is not valid.
    init?(_ target: String) {
        let items = URLComponents(string: target)?.queryItems ?? []
        guard let text = items.first(where: { $0.name == "seconds" })?.value, let seconds = Double(text),
            (1...Self.longest).contains(seconds)
        else { return nil }
        let app = items.first { $0.name == "app" }?.value ?? ""
        self.init(seconds: seconds, app: app.isEmpty ? nil : AppID(rawValue: app))
    }
}
