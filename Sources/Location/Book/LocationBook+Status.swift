import Foundation
package import NightshiftAPI
import Scheduler

/// What people are shown: who watches what, how often it was told, and why nothing goes on. No place is in it.
extension LocationBook {
    package func status(_ now: LocationMoment) -> LocationStatus {
        var status = LocationStatus(sources: sources ?? [], apps: order.compactMap { self.status(of: $0, now) })
        let next = request == nil ? nextFix(now) : now.bootSeconds
        status.nextFix = next.map { Date(timeIntervalSince1970: now.wallSeconds(of: $0)) }
        return status
    }

    /// Nil where there is no such app.
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

    /// An app's regions, with the side of each as long as somebody looks.
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

    /// The events and places that the app is given now, and the reason where there are none.
    private func sentence(_ app: AppID, _ record: LocationRecord) -> String {
        let allow = "'nightshift app location \(app) --always' lets it."
        if asking[app] != nil { return "Its user is being asked whether it may learn where the device is." }
        let updates = followers.summary(of: app)
        let isMonitoring = !record.regions.isEmpty || record.monitorsSignificantChanges
        guard isMonitoring || updates != nil else {
            return "It watches no region and wants to hear of no significant changes."
        }
        switch record.permission {
        case .ask: return "Its user has not said whether it may learn where the device is. \(allow)"
        case .denied: return "Its user does not let it learn where the device is. \(allow)"
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
            return "It asks where the device is, and is suspended: the receiver is off for it until it runs again."
        }
        guard canMonitorRegions else {
            return "It asks where the device is, to \(metres) m, and nothing here tells it."
        }
        return "It asks where the device is, to \(metres) m, and keeps the receiver on for that while it runs."
    }

    private func sentence(monitoring app: AppID, _ record: LocationRecord) -> String {
        if isForceQuit.contains(app) {
            return "Its user has ended it: nothing is watched for it before its user starts it again."
        }
        guard isWatched(app) else { return "It may learn where the device is only while its user sees it." }
        var sentences: [String] = []
        if !record.regions.isEmpty {
            sentences.append(
                canMonitorRegions
                    ? "It is told when the device enters or leaves \(Self.count(record.regions.count))."
                    : "It watches \(Self.count(record.regions.count)), and nothing here tells where the device is.")
        }
        for identifier in record.regions.keys.sorted() {
            guard let finest = plan.accuracyTooCoarse(for: identifier, of: app) else { continue }
            let metres = Int64(saturating: finest.rounded(.up))
            sentences.append(
                "The region '\(identifier)' is too small to be told: places here are accurate to \(metres) m. Give it a "
                    + "radius of at least as much.")
        }
        if record.monitorsSignificantChanges {
            sentences.append(
                canMonitorSignificantChanges
                    ? "It is told of significant changes of the location."
                    : "Significant changes are not told: there is neither a modem nor a location of the network.")
        }
        return sentences.joined(separator: " ")
    }

    private static func count(_ regions: Int) -> String { regions == 1 ? "one region" : "\(regions) regions" }
}
