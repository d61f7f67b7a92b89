/// Why an app is not woken for a push, for now or at all.
package enum PushHold: String, Hashable, Sendable, Codable, CaseIterable {
    // Its push is not for it.
    case notInstalled
    case notDeclared
    case forceQuit
    case switchedOff
    // Its push waits.
    case machineSleeps
    case batteryLow
    case lowPower
    case dozing
    case budget
    /// The app has not done with others yet.
    case busy
    /// By the wall clock its sender's date is over, and the wall clock may be wrong.
    case clock

    /// Whether the push waits for it to pass.
    package var waits: Bool {
        switch self {
        case .notInstalled, .notDeclared, .forceQuit, .switchedOff: false
        case .machineSleeps, .batteryLow, .lowPower, .dozing, .budget, .busy, .clock: true
        }
    }

    package var sentence: String {
        switch self {
        case .notInstalled: "Its desktop entry is gone, so nothing can launch it."
        case .notDeclared: "It does not declare the background mode 'remote-notification', so it is not woken."
        case .forceQuit: "Its user has ended it; it is not woken until its user starts it."
        case .switchedOff: "Its user has switched background refresh off, so it is not woken."
        case .machineSleeps: "The machine sleeps, or is about to; the app is woken when it wakes."
        case .batteryLow: "The battery is almost empty; the app is woken when it has power again."
        case .lowPower: "The device saves power; the app is woken when it does not, or when its user starts it."
        case .dozing: "The device dozes; the app is woken in the next window."
        case .budget: "The device has woken apps for as many silent pushes as it does in an hour on battery."
        case .busy:
            "The app has \(PushBook.mostRunning) pushes to handle; it has this one when it is done with one of them."
        case .clock:
            "By the clock it has expired, but the clock was set, or the service started, less than 15 minutes ago: it may be wrong."
        }
    }
}
