import Foundation
import NightshiftAPI

/// Samples of regions and significant changes.
extension Sample {
    static var locationRequests: [Sample] {
        get throws {
            let center = try center
            return [
                try Sample(center, least: center, isRequest: true),
                try Sample(try region, least: try region, isRequest: true),
                try Sample(
                    LocationAuthorizationRequest(permission: .always),
                    least: LocationAuthorizationRequest(permission: .whenInUse), isRequest: true),
                try Sample(
                    AppLocationChange(permission: .denied), least: AppLocationChange(), isRequest: true),
            ]
        }
    }

    static var locationAnswers: [Sample] {
        get throws {
            let source = LocationStatus.SourceStatus(name: "gpsd", isAvailable: true, sentence: "s")
            var status = LocationStatus(sources: [source], apps: [try app])
            status.nextFix = date
            var event = LocationEvent(kind: .entered, time: date)
            event.region = try region
            event.place = try place
            var process = ProcessLocation(permission: .always)
            process.canMonitorRegions = true
            process.canMonitorSignificantChanges = true
            process.regions = [try crossed]
            process.monitorsSignificantChanges = true
            process.place = try place
            let updates = LocationUpdateStatus(accuracy: 10, since: date, isOn: true)
            var update = LocationUpdate(place: try place)
            update.failure = .unknown
            return [
                try Sample(status, least: LocationStatus(sources: [], apps: [])),
                try Sample(
                    try app, least: AppLocationStatus(app: AppID(rawValue: "a"), name: "n", permission: .ask)),
                try Sample(try crossed, least: RegionStatus(region: try region, state: .unknown)),
                try Sample(process, least: ProcessLocation(permission: .denied)),
                try Sample(try place, least: try place),
                try Sample(event, least: LocationEvent(kind: .changed, time: date)),
                try Sample(updates, least: updates),
                try Sample(update, least: LocationUpdate()),
                try Sample(LocationNotice(permission: .whenInUse), least: LocationNotice(permission: .denied)),
            ]
        }
    }

    private static var center: Coordinate {
        get throws { try JSON.decode(Coordinate.self, from: Data(#"{"latitude":52.5,"longitude":13.375}"#.utf8)) }
    }

    private static var region: MonitoredRegion {
        get throws { MonitoredRegion(identifier: "home", center: try center, radius: 150, notifiesOnExit: false) }
    }

    private static var place: Place {
        get throws { Place(try center, accuracy: 12, time: date) }
    }

    private static var crossed: RegionStatus {
        get throws {
            var status = RegionStatus(region: try region, state: .inside)
            status.crossings = 3
            status.lastCrossing = date
            return status
        }
    }

    private static var app: AppLocationStatus {
        get throws {
            var app = AppLocationStatus(app: AppID(rawValue: "org.example.Arrivals"), name: "A", permission: .always)
            app.reason = "r"
            app.regions = [try crossed]
            app.monitorsSignificantChanges = true
            app.wakes = 3
            app.receiverSecondsToday = 4.5
            app.receiverSeconds = 60
            app.updates = LocationUpdateStatus(accuracy: 10, since: date, isOn: true)
            app.sentence = "s"
            return app
        }
    }
}
