/// The reason why no fetch begins for an app now.
package enum RefreshHold: String, Hashable, Sendable, Codable, CaseIterable {
    // Settings of the app and the user.
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
    // Times before which no fetch begins.
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
        case .never: "It has not asked for background fetches."
        case .appSwitchedOff: "You have switched background refresh off for it."
        case .allSwitchedOff: "You have switched background refresh off for all apps."
        case .forceQuit: "You force-quit it; it is not fetched for until you start it."
        case .cap: "It has had as many fetches today as you allow."
        case .underWay: "It is fetching now."
        case .inFront: "It is in the foreground and fetches for itself."
        case .machineSleeps: "The machine is asleep or about to sleep."
        case .batteryLow: "The battery is almost empty."
        case .lowPower: "Low-power mode is on."
        case .noNetwork: "There is no network."
        case .constrainedNetwork: "Data saver is on for this network."
        case .interval: "The interval that it asked for has not passed since its last fetch."
        case .failures: "Its last fetches failed. The pause before the next one grows with each failure."
        case .userSleeps: "You are not expected to use the device within the next hour."
        case .unused: "It has not been used for two weeks, so it gets almost nothing of the budget."
        case .fresh: "It was fetched for, or used, within the last hour."
        case .later: "A later moment is better: just before it is likely to be opened."
        case .othersGainMore: "The budget goes to apps that are more likely to be opened."
        case .energyBudget: "The energy budget for fetches is used up for now."
        case .dataBudget: "The data budget for fetches is used up for now."
        case .sharedWake: "Its fetch is due. It waits up to an hour for a wake that it can share with other apps."
        }
    }
}
