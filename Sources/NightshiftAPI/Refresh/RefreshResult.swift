/// What came of a background fetch (UIBackgroundFetchResult), or of another piece of work that a wake was for.
package enum RefreshResult: String, Hashable, Sendable, Codable, CaseIterable {
    case newData
    case noData
    case failed

    /// The exit status by which a program that does not link the library says that there was nothing new.
    package static let noDataStatus: Int32 = 10

    /// What a program says that completes its wake by its end.
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
    /// Nothing that its user could change forbids it: no mode of its entry lets it be launched.
    case restricted
    /// Its user has switched it off, for this app or for all.
    case denied
    case available
}
