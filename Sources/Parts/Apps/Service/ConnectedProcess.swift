package import NightshiftAPI

/// A process with an open command stream, and its app.
package struct ConnectedProcess: Hashable, Sendable {
    package var processID: Int32
    package var app: AppID
    /// Whether it is a secondary process of the app.
    package var isGuest: Bool

    package init(processID: Int32, app: AppID, isGuest: Bool) {
        self.processID = processID
        self.app = app
        self.isGuest = isGuest
    }
}
