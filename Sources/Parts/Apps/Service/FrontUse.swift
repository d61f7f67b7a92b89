package import NightshiftAPI

/// The app that the user has in the foreground according to the desktop, if the app's own states do not report its use.
///
/// This is a pure value. The use of an app whose process the service knows is measured by its states. The use of an app
/// that the user started and that reports no state is measured by its windows. So no use is counted twice.
package struct FrontUse: Equatable, Sendable {
    /// The app in use; nil if no app is.
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

    /// Updates the app in use. Returns the resulting changes.
    ///
    /// - Parameters:
    ///   - front: the installed app whose window has the focus.
    ///   - hasStates: whether the app's states report its use.
    ///   - isUserAway: whether the user is away. The window then does not count as in use.
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
