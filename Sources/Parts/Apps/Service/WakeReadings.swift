import NightshiftAPI

/// The readings of the wanted wakes from the store.
struct WakeReadings {
    /// Whether a reading of the wakes of all apps is running.
    var isUnderWay = false
    /// Whether another one is needed after it.
    var isRequested = false
    private var last = 0
    /// For each app, the number of the newest reading that its machine was given.
    private var given: [AppID: Int] = [:]

    /// Returns the number of a new reading.
    mutating func begin() -> Int {
        last += 1
        return last
    }

    /// Whether a reading is newer than those that the machine of the app was given. If so, it is given now.
    mutating func isNew(_ reading: Int, of app: AppID) -> Bool {
        guard given[app] ?? 0 < reading else { return false }
        given[app] = reading
        return true
    }

    mutating func forget(_ app: AppID) { given[app] = nil }
}
