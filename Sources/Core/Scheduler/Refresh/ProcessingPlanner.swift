import Foundation
package import NightshiftAPI

/// Decides which processing tasks run. Such tasks work for minutes while nobody uses the device.
///
/// This is a pure function: it takes waiting and running tasks, and returns tasks to begin, tasks to end, and reasons
/// why others wait. Times are seconds since 1970. Apple's rules (BGProcessingTask) are: the device is idle, the task
/// ends when the user returns, and it is tried within two days if the app was used in the last week. See
/// `docs/decisions/0037`.
package enum ProcessingPlanner {
    /// The maximum number of tasks of all apps that run at the same time. Each app runs one task.
    package static let most = 2
    /// The number of seconds for which a request waits for external power if it does not require external power.
    package static let timeout = LocalMoment.daySeconds
    /// The number of seconds after the last use of an app during which the app's tasks may run on battery.
    package static let recentUse = 7 * LocalMoment.daySeconds

    /// A submitted processing task.
    package struct Request: Hashable, Sendable {
        package var app: AppID
        package var task: ScheduledTask
        package var submitted: Double
        package var isRunning: Bool
        /// The last known time at which the app was in use.
        package var lastUse: Double?
        /// Whether the user has switched background refresh off. The next property says whether the user has force-quit
        /// the app.
        package var isSwitchedOff = false
        package var isForceQuit = false
        /// The processing history of the app.
        package var history: ProcessingHistory?

        package init(app: AppID, task: ScheduledTask, submitted: Double, isRunning: Bool = false) {
            self.app = app
            self.task = task
            self.submitted = submitted
            self.isRunning = isRunning
        }

        package var key: Key { Key(app: app, identifier: task.identifier) }

        /// The time in seconds since 1970 from which the task could have run.
        fileprivate var ready: Double { max(submitted, task.earliestBegin?.timeIntervalSince1970 ?? submitted) }
        fileprivate var needsPower: Bool { task.requiresPower ?? false }
        fileprivate var needsNetwork: Bool { task.requiresNetwork ?? false }
    }

    package struct Key: Hashable, Sendable {
        package var app: AppID
        package var identifier: String

        package init(app: AppID, identifier: String) {
            self.app = app
            self.identifier = identifier
        }
    }

    /// The reason why a task waits.
    package enum Hold: String, Hashable, Sendable, CaseIterable {
        case switchedOff
        case forceQuit
        case notYet
        case distance
        case budget
        case inUse
        case machineSleeps
        case batteryLow
        case lowPower
        case noPower
        case noNetwork
        case othersRun
        case unused
        case timeout

        package var sentence: String {
            switch self {
            case .switchedOff: "You have switched background refresh off."
            case .forceQuit: "You force-quit the app. Its tasks do not begin until you start it again."
            case .notYet: "The earliest begin date of the task has not been reached."
            case .distance:
                "The task ran recently. If it runs repeatedly, the pause between runs grows from 15 minutes to 8 hours."
            case .budget: "The processing tasks of the app have used up their running time of one hour a day."
            case .inUse: "The task begins when nobody is using the device."
            case .machineSleeps: "The machine is asleep or about to sleep."
            case .batteryLow: "The battery is almost empty."
            case .lowPower: "Low-power mode is on."
            case .noPower: "The task requires external power."
            case .noNetwork: "The task requires a network."
            case .othersRun: "Other processing tasks are running."
            case .unused:
                "The task waits for external power, because the service has not seen you use its app for a week."
            case .timeout: "The task waits for external power for up to a day."
            }
        }
    }

    /// The reason why a running task has to end.
    package enum End: String, Hashable, Sendable, CaseIterable {
        case userReturned
        case machineSleeps
        case powerLost
        case networkLost

        package var sentence: String {
            switch self {
            case .userReturned: "You are using the device again."
            case .machineSleeps: "The machine is about to sleep."
            case .powerLost: "The task requires external power, and the device is now on battery."
            case .networkLost: "The task requires a network, and none is available now."
            }
        }
    }

    package struct Held: Hashable, Sendable {
        package var hold: Hold
        /// The time in seconds since 1970 at which the task no longer has to wait, without an event; nil if an event
        /// must end the wait.
        package var until: Double?
    }

    package struct Plan: Hashable, Sendable {
        package internal(set) var begin: [Key] = []
        package internal(set) var expire: [Key: End] = [:]
        package internal(set) var holds: [Key: Held] = [:]
        /// The time in seconds since 1970 of the next planning, unless an event happens before.
        package internal(set) var lookAgain: Double?

        package init() {}
    }

    /// Returns the tasks to begin and to end now, and the reasons why other tasks wait.
    ///
    /// - Parameters:
    ///   - isOn: whether the user's switch for all apps is on.
    package static func plan(
        _ requests: [Request], _ device: DeviceConditions, isOn: Bool, now: Double
    ) -> Plan {
        var plan = Plan()
        for request in requests where request.isRunning {
            if let end = end(request, device) { plan.expire[request.key] = end }
        }
        var running = requests.filter(\.isRunning)
        let waiting = requests.filter { !$0.isRunning }.sorted {
            ($0.ready, $0.submitted, $0.app.rawValue, $0.task.identifier)
                < ($1.ready, $1.submitted, $1.app.rawValue, $1.task.identifier)
        }
        for request in waiting {
            if let held = held(request, device, isOn: isOn, now) {
                plan.holds[request.key] = held
                if let until = held.until { plan.lookAgain = min(plan.lookAgain ?? until, max(until, now + 1)) }
            } else if running.count >= most || running.contains(where: { $0.app == request.app }) {
                plan.holds[request.key] = Held(hold: .othersRun)
            } else {
                plan.begin.append(request.key)
                running.append(request)
            }
        }
        return plan
    }

    /// Returns the reason why a running task cannot continue.
    private static func end(_ request: Request, _ device: DeviceConditions) -> End? {
        if !device.isIdle { return .userReturned }
        if device.isSleeping { return .machineSleeps }
        if request.needsPower, device.power != .external { return .powerLost }
        if request.needsNetwork, !device.network.isAvailable { return .networkLost }
        return nil
    }

    private static func held(_ request: Request, _ device: DeviceConditions, isOn: Bool, _ now: Double) -> Held? {
        if !isOn || request.isSwitchedOff { return Held(hold: .switchedOff) }
        if request.isForceQuit { return Held(hold: .forceQuit) }
        if let begin = request.task.earliestBegin?.timeIntervalSince1970, now < begin {
            return Held(hold: .notYet, until: begin)
        }
        if let held = request.history?.hold(request.task.identifier, now: now) { return held }
        if !device.isIdle { return Held(hold: .inUse) }
        if device.isSleeping { return Held(hold: .machineSleeps) }
        if request.needsNetwork, !device.network.isAvailable { return Held(hold: .noNetwork) }
        guard device.power == .battery else { return nil }
        if request.needsPower { return Held(hold: .noPower) }
        if device.batteryPercentage.map({ $0 < RefreshConditions.criticalBattery }) ?? false {
            return Held(hold: .batteryLow)
        }
        if device.isLowPower { return Held(hold: .lowPower) }
        guard let lastUse = request.lastUse, now - lastUse <= recentUse else { return Held(hold: .unused) }
        let end = request.ready + timeout
        return now < end ? Held(hold: .timeout, until: end) : nil
    }
}
