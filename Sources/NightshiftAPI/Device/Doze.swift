package import Foundation

/// Whether background work runs now.
package enum DozePhase: String, Sendable, Codable, CaseIterable {
    /// Everything runs.
    case awake
    /// Background work stands still and waits for a window.
    case dozing
    /// A time in which everything runs that waited.
    case window
}

/// Why the device left doze, or why a window opened.
package enum WindowReason: String, Sendable, Codable, CaseIterable {
    /// The interval since the last one is over.
    case maintenance
    /// The machine woke from sleep.
    case deviceWoke
    /// An app had to be woken.
    case appWoken
    /// `nightshift device window`.
    case requested

    package var sentence: String {
        switch self {
        case .maintenance: "It was time for a maintenance window."
        case .deviceWoke: "The machine woke from sleep."
        case .appWoken: "An app had to be woken."
        case .requested: "It was requested with 'nightshift device window'."
        }
    }
}

/// What keeps a device out of doze.
package enum AwakeReason: String, Sendable, Codable, CaseIterable {
    case inUse
    case externalPower
    /// A background task under the contiguous policy.
    case held
    /// It has not been idle on battery for long enough.
    case settling
    /// `nightshift device wake`.
    case requested

    package var sentence: String {
        switch self {
        case .inUse: "The device is in use."
        case .externalPower: "The device has external power."
        case .held: "An app keeps the device awake."
        case .settling: "The device has not been idle for long enough."
        case .requested: "It was woken with 'nightshift device wake'."
        }
    }
}

/// The state of doze, as the world sees it.
package struct DozeStatus: Hashable, Sendable, Codable {
    package var phase: DozePhase
    package var since: Date
    /// Present while awake.
    package var awakeReason: AwakeReason?
    /// Present in a window.
    package var windowReason: WindowReason?
    /// When the next window opens, where nothing opens one before, or the present one closes at the latest.
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

/// The moment that decisions are made for: the device's conditions, and whether background work runs.
package struct DeviceMoment: Hashable, Sendable {
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
    /// The names of its background tasks.
    package var tasks: [String]
    package var since: Date

    package init(app: AppID, tasks: [String], since: Date) {
        self.app = app
        self.tasks = tasks
        self.since = since
    }
}
