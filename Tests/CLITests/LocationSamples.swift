import Foundation
import NightshiftAPI

@testable import CLI

/// Regions and significant changes with fixed times, like ``Samples``.
enum LocationSamples {
    static let id = AppID(rawValue: "org.example.Arrivals")

    static func region(
        _ identifier: String, _ latitude: Double, _ longitude: Double, _ radius: Double, entry: Bool = true,
        exit: Bool = true
    ) -> MonitoredRegion {
        guard let center = Coordinate(latitude: latitude, longitude: longitude) else {
            preconditionFailure("The samples are on the earth.")
        }
        return MonitoredRegion(
            identifier: identifier, center: center, radius: radius, notifiesOnEntry: entry, notifiesOnExit: exit)
    }

    /// An app with two regions; the device is inside one of them.
    static var arrivals: AppLocationStatus {
        var app = AppLocationStatus(app: id, name: "Arrivals", permission: .always)
        app.reason = "To \u{1b}say when you are home."
        var home = RegionStatus(region: region("home", 52.5163, 13.3777, 150, exit: false), state: .inside)
        home.crossings = 3
        home.lastCrossing = Samples.ago(1_084)
        app.regions = [home, RegionStatus(region: region("far\u{202e}away", -33.45, -70.66, 5_500), state: .unknown)]
        app.wakes = 3
        app.receiverSecondsToday = 64
        app.receiverSeconds = 412.5
        app.sentence = "It is notified when the device enters or leaves 2 regions."
        return app
    }

    /// An app that requests location updates.
    static var maps: AppLocationStatus {
        var app = AppLocationStatus(app: AppID(rawValue: "org.example.Maps"), name: "Maps", permission: .whenInUse)
        app.updates = LocationUpdateStatus(accuracy: 10, since: Samples.ago(90), isOn: true)
        app.receiverSecondsToday = 85
        app.receiverSeconds = 85
        app.sentence = "It requests the location with an accuracy of 10 m, and keeps the receiver on while it runs."
        return app
    }

    /// An app whose permission is not decided.
    static var news: AppLocationStatus {
        var app = AppLocationStatus(app: AppID(rawValue: "org.example.News"), name: "", permission: .ask)
        app.monitorsSignificantChanges = true
        app.sentence =
            "You have not decided whether it may use the location. "
            + "'nightshift app location org.example.News --always' allows it."
        return app
    }

    static var device: LocationStatus {
        var status = LocationStatus(
            sources: [
                .init(name: "gpsd", isAvailable: true, sentence: "A receiver is there; off until the next fix."),
                .init(name: "modem", isAvailable: false, sentence: "ModemManager is not there."),
            ], apps: [arrivals, news])
        status.nextFix = Samples.now.addingTimeInterval(240)
        return status
    }
}
