package import NightshiftAPI

/// Which app its user has in front by what the desktop shows, where nothing else tells of its use.
///
/// Pure. An app whose process the service knows is counted by its states; one that its user has started, and that says
/// nothing of itself, by its windows. So nothing is counted twice.
package struct FrontUse: Equatable, Sendable {
    /// The app that is in use; nil where none is.
    package private(set) var app: AppID?

    package struct Change: Hashable, Sendable {
        package var app: AppID
        package var isInFront: Bool

        package init(app: AppID, isInFront: Bool) {
            self.app = app
            self.isInFront = isInFront
        }
    }

    package init() {}

    /// - Parameters:
    ///   - front: the installed app whose window is in front.
    ///   - hasStates: whether its states tell of its use.
    ///   - isUserAway: whether nobody uses the device: a window that stands there is not looked at.
    package mutating func update(front: AppID?, hasStates: Bool, isUserAway: Bool) -> [Change] {
        let next = hasStates || isUserAway ? nil : front
        guard next != app else { return [] }
        let changes =
            [app.map { Change(app: $0, isInFront: false) }, next.map { Change(app: $0, isInFront: true) }]
            .compactMap(\.self)
        app = next
        return changes
    }
}
