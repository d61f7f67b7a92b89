/// The result of a background fetch (UIBackgroundFetchResult), or of other work for which an app was woken.
package enum RefreshResult: String, Hashable, Sendable, Codable, CaseIterable {
    case newData
    case noData
    case failed

    /// The words for display.
    package var words: String {
        switch self {
        case .newData: "new data"
        case .noData: "nothing new"
        case .failed: "failed"
        }
    }

    /// The exit status of a program without the library that means that there was no new data.
    package static let noDataStatus: Int32 = 10

    /// Creates the result for a program whose exit completes its wake.
    package init(exitStatus: Int32) {
        switch exitStatus {
        case 0: self = .newData
        case Self.noDataStatus: self = .noData
        default: self = .failed
        }
    }
}

/// Whether the system refreshes an app in the background (UIBackgroundRefreshStatus).
package enum RefreshAvailability: String, Hashable, Sendable, Codable, CaseIterable {
    /// The state if the desktop entry of the app declares no background mode for background refresh. The user then
    /// cannot allow background refresh.
    case restricted
    /// The state if the user switched background refresh off, for this app or for all apps.
    case denied
    case available
}
