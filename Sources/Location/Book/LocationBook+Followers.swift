import Foundation
package import NightshiftAPI
import Scheduler

/// An answer to a request for the place: what the app's stream carries next.
package struct LocationDelivery: Hashable, Sendable {
    package var number: Int
    package var update: LocationUpdate
    /// Whether the stream ends with it.
    package var isLast: Bool
}

/// Running apps that ask where the device is now.
extension LocationBook {
    /// An app asks for the place, until ``unfollow(_:)``. It is answered by ``takeDeliveries()``.
    ///
    /// - Parameters:
    ///   - number: names the request.
    ///   - asksUser: whether a user who has not said whether the app may is asked.
    package mutating func follow(
        _ number: Int, _ wanted: LocationUpdateRequest, for app: AppID, asksUser: Bool, now: LocationMoment
    ) throws(Problem) {
        try require(app)
        guard followers.count(of: app) < Limits.locationUpdates else {
            throw .tooMany("\(app) asks for the location \(Limits.locationUpdates) times already.")
        }
        know(app)
        followers.add(number, wanted, of: app, now: now.bootSeconds)
        if asksUser { try requestAuthorization(.whenInUse, for: app, now: now) }
        updateFollowing(app, now)
    }

    package mutating func unfollow(_ number: Int) { followers.remove(number) }

    /// The app's process stands still, or runs again.
    package mutating func suspend(_ app: AppID, isSuspended: Bool, now: LocationMoment) {
        if isSuspended { suspended.insert(app) } else { suspended.remove(app) }
        updateFollowing(app, now)
    }

    /// Has an app's requests wait or be answered, as what it may and does has changed.
    mutating func updateFollowing(_ app: AppID, _ now: LocationMoment) {
        guard followers.count(of: app) > 0 else { return }
        let isActive = manifests[app] != nil && isAllowed(app) && !suspended.contains(app)
        followers.setActive(isActive, app, now: now.bootSeconds)
        if isActive {
            // The place of a moment ago is the place now.
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

    /// The answers since the last call. None of them has to be on disk.
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
