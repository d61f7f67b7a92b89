import Foundation
package import NightshiftAPI
import Scheduler

/// An element for the stream of a location request.
package struct LocationDelivery: Hashable, Sendable {
    package var number: Int
    package var update: LocationUpdate
    /// Whether the stream ends after this element.
    package var isLast: Bool
}

/// The location requests of running apps.
extension LocationState {
    /// Adds a location request of an app. It lasts until ``unfollow(_:)``, and ``takeDeliveries()`` returns its
    /// results.
    ///
    /// - Parameters:
    ///   - number: the number of the request.
    ///   - asksUser: whether to ask the user for permission, if there is no answer yet.
    package mutating func follow(
        _ number: Int, _ wanted: LocationUpdateRequest, for app: AppID, asksUser: Bool, now: LocationMoment
    ) throws(Problem) {
        try require(app)
        guard followers.count(of: app) < Limits.locationUpdates else {
            throw .tooMany("\(app) has \(Limits.locationUpdates) location requests, which is the limit.")
        }
        know(app)
        followers.add(number, wanted, of: app, now: now.bootSeconds)
        if asksUser { try requestAuthorization(.whenInUse, for: app, now: now) }
        updateFollowing(app, now)
    }

    package mutating func unfollow(_ number: Int) { followers.remove(number) }

    /// Records that the app's process was suspended or resumed.
    package mutating func suspend(_ app: AppID, isSuspended: Bool, now: LocationMoment) {
        if isSuspended { suspended.insert(app) } else { suspended.remove(app) }
        updateFollowing(app, now)
    }

    /// Activates, pauses or refuses the requests of an app after a change of its state or permission.
    mutating func updateFollowing(_ app: AppID, _ now: LocationMoment) {
        guard followers.count(of: app) > 0 else { return }
        let isActive = manifests[app] != nil && isAllowed(app) && !suspended.contains(app)
        followers.setActive(isActive, app, now: now.bootSeconds)
        if isActive {
            // A location from a moment ago still counts as current.
            if let place { deliver(followers.take(place, now: now.bootSeconds), now) }
        } else if apps[app]?.permission == .denied {
            deliver(followers.refuse(app, onlyOnce: false), now)
        } else if apps[app]?.permission == .ask, asking[app] == nil {
            deliver(followers.refuse(app, onlyOnce: true), now)
        }
    }

    mutating func deliver(_ answers: [LocationFollowers.Delivery], _ now: LocationMoment) {
        deliveries += answers.map { answer in
            let update =
                switch answer.content {
                case .fix(let fix): LocationUpdate(place: described(fix, now))
                case .failure(let failure): LocationUpdate(failure: failure)
                }
            return LocationDelivery(number: answer.number, update: update, isLast: answer.isLast)
        }
    }

    /// Returns the results since the last call, and clears them. They are delivered without waiting for the disk.
    package mutating func takeDeliveries() -> [LocationDelivery] {
        defer { deliveries = [] }
        return deliveries
    }

    func updateStatus(of app: AppID, _ now: LocationMoment) -> LocationUpdateStatus? {
        followers.summary(of: app).map { summary in
            LocationUpdateStatus(
                accuracy: summary.accuracy, since: Date(timeIntervalSince1970: now.wallSeconds(of: summary.since)),
                isOn: summary.isOn)
        }
    }
}
