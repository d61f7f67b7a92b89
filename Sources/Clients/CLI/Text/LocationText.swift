import Foundation
import NightshiftAPI

/// Short texts for regions and permissions.
enum LocationText {
    static func permission(_ permission: LocationPermission) -> String {
        switch permission {
        case .ask: "not decided yet"
        case .denied: "denied"
        case .whenInUse: "while in use"
        case .always: "always"
        }
    }

    /// Returns words for the events that wake the app.
    static func crossings(_ region: MonitoredRegion) -> String {
        switch (region.notifiesOnEntry, region.notifiesOnExit) {
        case (true, true): "entry and exit"
        case (true, false): "entry"
        case (false, true): "exit"
        case (false, false): "nothing"
        }
    }

    /// Returns text such as "52.51630,13.37770". It is accurate to about a metre, and can be used as an argument.
    static func place(_ place: Coordinate) -> String {
        String(format: "%.5f,%.5f", place.latitude, place.longitude)
    }

    /// Returns text such as "150 m" or "1.5 km".
    static func distance(_ metres: Double) -> String {
        if metres < 1_000 { return String(format: metres == metres.rounded() ? "%.0f m" : "%.1f m", metres) }
        let kilometres = metres / 1_000
        return String(format: kilometres == kilometres.rounded() ? "%.0f km" : "%.1f km", kilometres)
    }

    /// Returns text such as "accurate to 10 m, since 2026-11-21 11:42:10 (3 min ago)".
    static func updates(_ updates: LocationUpdateStatus, _ times: TimeText) -> String {
        "accurate to \(distance(updates.accuracy)), since \(times.both(updates.since))"
    }

    static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }
}
