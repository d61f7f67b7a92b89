/// The reason why an app is not woken for a push, now or at all.
package enum PushHold: String, Hashable, Sendable, Codable, CaseIterable {
    // For these reasons the push does not reach the app.
    case notInstalled
    case notDeclared
    case forceQuit
    case switchedOff
    // For these reasons the push waits.
    case machineSleeps
    case batteryLow
    case lowPower
    case dozing
    case budget
    /// The app is still handling other pushes.
    case busy
    /// The push has expired by the wall clock, which may be wrong.
    case clock

    /// Whether the push waits until the reason has passed.
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
        case .forceQuit: "You force-quit it; it is not woken until you start it."
        case .switchedOff: "You have switched background refresh off, so it is not woken."
        case .machineSleeps: "The machine is asleep or about to sleep; the app is woken when the machine wakes."
        case .batteryLow: "The battery is almost empty; the app is woken when the device has power again."
        case .lowPower: "Low-power mode is on; the app is woken when it ends, or when you start the app."
        case .dozing: "The device dozes; the app is woken in the next maintenance window."
        case .budget: "On battery, the device has reached its hourly limit of apps woken for silent pushes."
        case .busy:
            "The app has \(PushState.mostRunning) pushes to handle; it gets this one after one of them."
        case .clock:
            "By the clock it has expired, but the clock was set, or the service started, less than 15 minutes ago: it may be wrong."
        }
    }
}
