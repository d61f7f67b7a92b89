/// Why an app is not fetched for now.
package enum RefreshHold: String, Hashable, Sendable, Codable, CaseIterable {
    // What the app or its user has said.
    case never
    case appSwitchedOff
    case allSwitchedOff
    case forceQuit
    case cap
    // What the app does.
    case underWay
    case inFront
    // What the device says.
    case machineSleeps
    case batteryLow
    case lowPower
    case noNetwork
    case constrainedNetwork
    // What time says.
    case interval
    case failures
    case userSleeps
    // What is worth it.
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
        case .appSwitchedOff: "Its user has switched background refresh off for it."
        case .allSwitchedOff: "Its user has switched background refresh off for all apps."
        case .forceQuit: "Its user has ended it; it is left alone until its user starts it."
        case .cap: "It has had as many fetches today as its user allows."
        case .underWay: "It is fetching now."
        case .inFront: "It is in front of its user and fetches for itself."
        case .machineSleeps: "The machine sleeps, or is about to."
        case .batteryLow: "The battery is almost empty."
        case .lowPower: "The device saves power."
        case .noNetwork: "There is no network."
        case .constrainedNetwork: "The network is to carry as little as possible."
        case .interval: "The interval that it asked for since its last fetch has not passed."
        case .failures: "Its last fetches failed; the next one follows after a pause that grows with each failure."
        case .userSleeps: "Its user sleeps."
        case .unused: "It has not been used for two weeks, and has almost nothing of the budget."
        case .fresh: "It was fetched for, or used, within the last hour."
        case .later: "A later moment is better: just before it is likely to be opened."
        case .othersGainMore: "The budget goes to apps that are more likely to be opened."
        case .energyBudget: "The energy that the device spends on fetches is used up for now."
        case .dataBudget: "The data that the device spends on fetches is used up for now."
        case .sharedWake: "Its moment has come; it waits, an hour at most, for a wake that it can share."
        }
    }
}
