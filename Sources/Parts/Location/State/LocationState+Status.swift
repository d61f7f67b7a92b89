import Foundation
package import NightshiftAPI
import Scheduler

/// The location status for users: the regions of apps, the number of their events, and the reasons why events are
/// missing. The status does not contain a location.
extension LocationState {
    package func status(_ now: LocationMoment) -> LocationStatus {
        var status = LocationStatus(sources: sources ?? [], apps: order.compactMap { self.status(of: $0, now) })
        let next = request == nil ? nextFix(now) : now.bootSeconds
        status.nextFix = next.map { Date(timeIntervalSince1970: now.wallSeconds(of: $0)) }
        return status
    }

    /// Returns the location status of an app; nil if there is no such app.
    package func status(of app: AppID, _ now: LocationMoment) -> AppLocationStatus? {
        guard let manifest = manifests[app] else { return nil }
        let record = apps[app] ?? LocationRecord()
        var status = AppLocationStatus(app: app, name: manifest.name, permission: record.permission)
        status.reason = manifest.locationReason
        status.regions = regions(of: app)
        status.monitorsSignificantChanges = record.monitorsSignificantChanges
        status.wakes = record.wakes
        status.receiverSecondsToday = record.receiver.seconds(on: now.local)
        status.receiverSeconds = record.receiver.seconds
        status.updates = updateStatus(of: app, now)
        status.sentence = sentence(app, record)
        return status
    }

    /// Returns the regions of an app. While the app is monitored, each region has the side on which the device is.
    func regions(of app: AppID) -> [RegionStatus] {
        let known = (apps[app]?.regions ?? [:]).values.sorted { $0.region.identifier < $1.region.identifier }
        return known.map { known in
            let side = isWatched(app) ? plan.state(of: known.region.identifier, of: app) : .unknown
            var status = RegionStatus(region: known.region, state: side)
            status.crossings = known.crossings
            status.lastCrossing = known.lastCrossing.map(Date.init(timeIntervalSince1970:))
            return status
        }
    }

    /// Returns a sentence that describes the events and locations that the app gets now, or the reason why it gets
    /// none.
    private func sentence(_ app: AppID, _ record: LocationRecord) -> String {
        let allow = "'nightshift app location \(app) --always' allows it."
        if asking[app] != nil { return "You are being asked whether it may use the location." }
        let updates = followers.summary(of: app)
        let isMonitoring = !record.regions.isEmpty || record.monitorsSignificantChanges
        guard isMonitoring || updates != nil else {
            return "It does not monitor regions or significant changes."
        }
        switch record.permission {
        case .ask: return "You have not decided whether it may use the location. \(allow)"
        case .denied: return "You do not allow it to use the location. \(allow)"
        case .whenInUse, .always: break
        }
        let sentences = [
            updates.map { sentence(updates: $0.accuracy, isOn: $0.isOn) },
            isMonitoring ? sentence(monitoring: app, record) : nil,
        ]
        return sentences.compactMap(\.self).joined(separator: " ")
    }

    private func sentence(updates accuracy: Double, isOn: Bool) -> String {
        let metres = Int64(saturating: accuracy.rounded(.up))
        guard isOn else {
            return "It requests the location, but it is suspended. The receiver stays off for it until it runs again."
        }
        guard canMonitorRegions else {
            return "It requests the location with an accuracy of \(metres) m, but no location source is available."
        }
        return "It requests the location with an accuracy of \(metres) m, and keeps the receiver on while it runs."
    }

    private func sentence(monitoring app: AppID, _ record: LocationRecord) -> String {
        if isForceQuit.contains(app) {
            return "You force-quit it. It does not get location events until you start it again."
        }
        guard isWatched(app) else { return "It may use the location only while it is in the foreground." }
        var sentences: [String] = []
        if !record.regions.isEmpty {
            sentences.append(
                canMonitorRegions
                    ? "It is notified when the device enters or leaves \(Self.count(record.regions.count))."
                    : "It monitors \(Self.count(record.regions.count)), but there is no location source.")
        }
        for identifier in record.regions.keys.sorted() {
            guard let finest = plan.accuracyTooCoarse(for: identifier, of: app) else { continue }
            let metres = Int64(saturating: finest.rounded(.up))
            sentences.append(
                "The region '\(identifier)' is too small for events: the location is accurate to \(metres) m. Give it "
                    + "a radius of at least \(metres) m.")
        }
        if record.monitorsSignificantChanges {
            sentences.append(
                canMonitorSignificantChanges
                    ? "It is notified of significant changes of the location."
                    : "It does not get significant changes, because there is neither a modem nor a network location.")
        }
        return sentences.joined(separator: " ")
    }

    private static func count(_ regions: Int) -> String { regions == 1 ? "one region" : "\(regions) regions" }
}
