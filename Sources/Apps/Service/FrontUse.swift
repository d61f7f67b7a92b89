package import NightshiftAPI

/// The app that the user has in the foreground according to the desktop, if nothing else reports its use.
///
/// It is a pure value. An app whose process the service knows is counted by its states. An app that the user has
/// started, and that does not report its state, is counted by its windows. So no use is counted twice.
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

    /// - Parameters:
    ///   - front: the installed app whose window has the focus.
    ///   - hasStates: whether the app's states report its use.
    ///   - isUserAway: whether nobody uses the device; then the window does not count as in use.
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
