import Foundation
package import NightshiftAPI
package import PushProtocol
import Runtime

/// The push status for users and for the gateway.
extension PushState {
    /// Returns the push status of an app; nil if there is no such app.
    package func status(of app: AppID, now: Double) -> AppPushStatus? {
        guard let manifest = manifests[app] else { return nil }
        var status = AppPushStatus(app: app, name: manifest.name, alerts: permissions[app] ?? .ask)
        status.isRegistered = apps[app]?.isRegistered ?? false
        status.token = apps[app]?.token
        status.error = error(of: app)
        let own = order.compactMap { pushes[$0] }.filter { $0.app == app }
        status.pushes = own.suffix(Limits.pushes).map(Self.explained)
        status.waiting = own.last { $0.record.state == .waiting }.map(Self.explained)
        status.sentence = sentence(app, now)
        return status
    }

    /// Returns the record of a push, whose sentence also describes the state of the alert.
    private static func explained(_ push: KnownPush) -> PushRecord {
        var record = push.record
        guard record.shown == nil else { return record }
        let isOpen = record.state == .notShown && record.alert == nil
        let alert = isOpen ? "The state of its alert is not known yet." : record.alert?.sentence(of: push.app)
        record.sentence = [record.sentence, alert].compactMap(\.self).joined(separator: " ")
        return record
    }

    /// Returns the status of every app that has registered or received pushes.
    package func statuses(now: Double) -> [AppPushStatus] {
        apps.keys.sorted { $0.rawValue < $1.rawValue }.compactMap { status(of: $0, now: now) }
    }

    /// Returns the notice for the processes of an app; nil if the app has not registered.
    package func notice(for app: AppID) -> PushNotice? {
        guard let known = apps[app], known.isRegistered else { return nil }
        return PushNotice(token: known.token, error: error(of: app))
    }

    private func error(of app: AppID) -> String? {
        guard let known = apps[app], known.isRegistered, known.token == nil else { return nil }
        if device.enrolment == nil {
            return "This device is not enrolled at a push gateway. 'nightshift push enrol URL' enrols it."
        }
        return known.error
    }

    /// Returns a sentence that describes what would happen if a push arrived now.
    private func sentence(_ app: AppID, _ now: Double) -> String {
        guard apps[app]?.isRegistered == true else { return "The app has not registered for remote notifications." }
        if let error = error(of: app) { return error }
        if apps[app]?.token == nil { return "The app is waiting for its token from the gateway." }
        var record = PushRecord(
            id: "", received: Date(timeIntervalSince1970: now), priority: 5, isSilent: true, hasAlert: false)
        record.state = .waiting
        let push = KnownPush(
            record: record, app: app, number: .max, expires: .infinity, identifier: "", isUrgent: false)
        return hold(push, now)?.sentence ?? "A push with content-available wakes the app at once."
    }

    // MARK: - For the gateway

    /// The filter for the topic of each registered app.
    package var topics: [TopicChoice] {
        registered.map { TopicChoice($0.rawValue, filter(of: $0)) }
    }

    private func filter(of app: AppID) -> TopicFilter {
        // The user sees notifications of these apps, even if the apps are not woken.
        guard permissions[app] == .denied, !inFront.contains(app) else { return .enabled }
        guard let manifest = manifests[app], manifest.modes.contains(.remoteNotification),
            apps[app]?.isForceQuit != true, !switchedOff.contains(app)
        else { return .ignored }
        let conditions = moment.conditions
        let isLow =
            conditions.power == .battery
            && (conditions.batteryWarning == .critical || conditions.batteryWarning == .action)
        return conditions.isLowPower || isLow ? .opportunistic : .enabled
    }

    package var deviceState: ReportedActivity {
        if moment.phase == .dozing { return .dozing }
        return moment.conditions.isIdle ? .idle : .active
    }
}
