/// The reason why an app is not woken for a push, either now or at any time.
package enum PushHold: String, Hashable, Sendable, Codable, CaseIterable {
    // For these reasons, the app never gets the push.
    case notInstalled
    case notDeclared
    case forceQuit
    case switchedOff
    // For these reasons, the push waits.
    case machineSleeps
    case batteryLow
    case lowPower
    case dozing
    case budget
    /// The app is still handling earlier pushes.
    case busy
    /// The push has expired according to the wall clock, which may be wrong.
    case clock

    /// Whether the push waits until the reason no longer applies.
    package var waits: Bool {
        switch self {
        case .notInstalled, .notDeclared, .forceQuit, .switchedOff: false
        case .machineSleeps, .batteryLow, .lowPower, .dozing, .budget, .busy, .clock: true
        }
    }

    package var sentence: String {
        switch self {
        case .notInstalled: "The app's desktop entry is gone, so nothing can launch the app."
        case .notDeclared: "The app does not declare the background mode 'remote-notification', so it is not woken."
        case .forceQuit: "You force-quit the app. It is not woken until you start it."
        case .switchedOff: "You have switched background refresh off, so the app is not woken."
        case .machineSleeps: "The machine is asleep or about to sleep. The app is woken when the machine wakes."
        case .batteryLow: "The battery is almost empty. The app is woken when the device has power again."
        case .lowPower: "Low-power mode is on. The app is woken when it ends, or when you start the app."
        case .dozing: "The device dozes. The app is woken in the next maintenance window."
        case .budget: "The device is on battery, and has reached its hourly limit for waking apps for silent pushes."
        case .busy:
            "The app is handling \(PushState.mostRunning) pushes. It gets this one when it has handled one of them."
        case .clock:
            "The push seems to have expired. The clock may be wrong, because it was set, or the service started, less than 15 "
                + "minutes ago."
        }
    }
}
