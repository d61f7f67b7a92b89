package import NightshiftAPI

/// The background activity of apps that doze takes into account.
package struct AppActivity: Hashable, Sendable {
    /// The apps with open background tasks and the contiguous policy, in the order of their ids.
    package var holders: [AwakeHolder] = []
    /// The number of wakes that have begun and are not completed, plus the number of background launches in progress.
    package var wakes = 0
    /// The number of background apps with open tasks that run or wait for a maintenance window.
    package var working = 0

    package init() {}

    package init(_ machines: some Sequence<AppMachine>) {
        for machine in machines {
            if let holder = machine.holder { holders.append(holder) }
            wakes += machine.wakesUnderWay
            if machine.isWorking { working += 1 }
        }
        holders.sort { $0.app.rawValue < $1.app.rawValue }
    }
}
