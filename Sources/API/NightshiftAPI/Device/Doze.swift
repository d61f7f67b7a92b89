package import Foundation

/// The phase of doze, which decides whether background work runs.
package enum DozePhase: String, Sendable, Codable, CaseIterable {
    /// The normal phase, in which everything runs.
    case awake
    /// The phase in which background work is paused until the next maintenance window.
    case dozing
    /// A maintenance window, in which all waiting work runs.
    case window
}

/// The reason for the end of doze, or for a maintenance window.
package enum WindowReason: String, Sendable, Codable, CaseIterable {
    /// The end of the interval since the last maintenance window.
    case maintenance
    /// A wake of the machine from sleep.
    case deviceWoke
    /// An app that had to be woken.
    case appWoken
    /// The command `nightshift device window`.
    case requested

    package var sentence: String {
        switch self {
        case .maintenance: "It was time for a maintenance window."
        case .deviceWoke: "The machine woke from sleep."
        case .appWoken: "An app had to be woken."
        case .requested: "You requested this."
        }
    }
}

/// The reason why a device does not doze.
package enum AwakeReason: String, Sendable, Codable, CaseIterable {
    case inUse
    case externalPower
    /// A background task under the contiguous policy, which keeps the device awake.
    case held
    /// A device that has not been idle on battery for long enough.
    case settling
    /// The command `nightshift device wake`.
    case requested

    package var sentence: String {
        switch self {
        case .inUse: "The device is in use."
        case .externalPower: "The device has external power."
        case .held: "An app keeps the device awake."
        case .settling: "The device has not been idle for long enough."
        case .requested: "You woke the device."
        }
    }
}

/// The state of doze as shown by the API.
package struct DozeStatus: Hashable, Sendable, Codable {
    package var phase: DozePhase
    package var since: Date
    /// The reason why the device is awake. It is present while the phase is awake.
    package var awakeReason: AwakeReason?
    /// The reason for the maintenance window. It is present in a maintenance window.
    package var windowReason: WindowReason?
    /// The latest time at which the next maintenance window opens, or at which the current one closes.
    package var until: Date?

    package init(
        phase: DozePhase, since: Date, awakeReason: AwakeReason? = nil, windowReason: WindowReason? = nil,
        until: Date? = nil
    ) {
        self.phase = phase
        self.since = since
        self.awakeReason = awakeReason
        self.windowReason = windowReason
        self.until = until
    }
}

/// The device state on which decisions are based: its conditions, and whether background work runs.
package struct DeviceState: Hashable, Sendable {
    package var conditions: DeviceConditions
    package var phase: DozePhase

    package init(conditions: DeviceConditions = DeviceConditions(), phase: DozePhase = .awake) {
        self.conditions = conditions
        self.phase = phase
    }
}

/// An app that keeps the device awake.
package struct AwakeHolder: Hashable, Sendable, Codable {
    package var app: AppID
    /// The names of the app's background tasks.
    package var tasks: [String]
    package var since: Date

    package init(app: AppID, tasks: [String], since: Date) {
        self.app = app
        self.tasks = tasks
        self.since = since
    }
}
