package import NightshiftAPI

/// A process that reads commands, and whose it is.
package struct ConnectedProcess: Hashable, Sendable {
    package var processID: Int32
    package var app: AppID
    /// Whether it is not the app's own process, but another one beside it.
    package var isGuest: Bool

    package init(processID: Int32, app: AppID, isGuest: Bool) {
        self.processID = processID
        self.app = app
        self.isGuest = isGuest
    }
}
