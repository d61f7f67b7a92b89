/// The reason why a fetch for an app does not begin now.
package enum RefreshHold: String, Hashable, Sendable, Codable, CaseIterable {
    // Settings of the app and of the user.
    case never
    case appSwitchedOff
    case allSwitchedOff
    case forceQuit
    case cap
    // The app's activity.
    case underWay
    case inFront
    // Device conditions.
    case machineSleeps
    case batteryLow
    case lowPower
    case noNetwork
    case constrainedNetwork
    // Times before which fetches do not begin.
    case interval
    case failures
    case userSleeps
    // The expected benefit of a fetch, and its cost.
    case unused
    case fresh
    case later
    case othersGainMore
    case energyBudget
    case dataBudget
    case sharedWake

    package var sentence: String {
        switch self {
        case .never: "The app has not requested background fetches."
        case .appSwitchedOff: "You have switched background refresh off for this app."
        case .allSwitchedOff: "You have switched background refresh off for all apps."
        case .forceQuit: "You force-quit the app. It does not fetch until you start it again."
        case .cap: "The app has reached your limit of fetches for today."
        case .underWay: "The app is fetching now."
        case .inFront: "The app is in the foreground, where it fetches content itself."
        case .machineSleeps: "The machine is asleep or about to sleep."
        case .batteryLow: "The battery is almost empty."
        case .lowPower: "Low-power mode is on."
        case .noNetwork: "There is no network."
        case .constrainedNetwork: "Data saver is on for this network."
        case .interval: "The minimum interval since the last fetch of the app has not passed."
        case .failures: "The last fetches of the app failed. The pause before the next one grows with each failure."
        case .userSleeps: "The service does not expect you to use the device within the next hour."
        case .unused: "The app has not been used for two weeks, so it gets almost none of the budget."
        case .fresh: "The app was fetched for or used within the last hour."
        case .later: "A later time is better: just before you are likely to open the app."
        case .othersGainMore: "The budget goes to apps that are more likely to be opened."
        case .energyBudget: "The energy budget for fetches is used up for now."
        case .dataBudget: "The data budget for fetches is used up for now."
        case .sharedWake: "A fetch is due. It waits up to an hour for a wake that it can share with other apps."
        }
    }
}
