import Foundation
import NightshiftAPI

/// Words for regions and permissions, short enough for a line.
enum LocationText {
    static func permission(_ permission: LocationPermission) -> String {
        switch permission {
        case .ask: "not decided yet"
        case .denied: "denied"
        case .whenInUse: "while in use"
        case .always: "always"
        }
    }

    static func state(_ state: RegionState) -> String {
        switch state {
        case .unknown: "unknown yet"
        case .inside: "inside"
        case .outside: "outside"
        }
    }

    /// Which crossings its app is woken for.
    static func crossings(_ region: MonitoredRegion) -> String {
        switch (region.notifiesOnEntry, region.notifiesOnExit) {
        case (true, true): "entry and exit"
        case (true, false): "entry"
        case (false, true): "exit"
        case (false, false): "nothing"
        }
    }

    /// "52.51630,13.37770": a metre or so, and what can be typed again.
    static func place(_ place: Coordinate) -> String {
        String(format: "%.5f,%.5f", place.latitude, place.longitude)
    }

    /// "150 m", "1.5 km".
    static func distance(_ metres: Double) -> String {
        if metres < 1_000 { return String(format: metres == metres.rounded() ? "%.0f m" : "%.1f m", metres) }
        let kilometres = metres / 1_000
        return String(format: kilometres == kilometres.rounded() ? "%.0f km" : "%.1f km", kilometres)
    }

    /// "accurate to 10 m, since 2026-11-21 11:42:10 (3 min ago)".
    static func updates(_ updates: LocationUpdateStatus, _ times: TimeText) -> String {
        "accurate to \(distance(updates.accuracy)), since \(times.both(updates.since))"
    }

    static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }
}
