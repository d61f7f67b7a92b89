package import NightshiftAPI

/// The activity of apps in the background, as far as it matters to doze.
package struct AppActivity: Hashable, Sendable {
    /// Apps with open background tasks and the contiguous policy, in the order of their ids.
    package var holders: [AwakeHolder] = []
    /// The number of wakes that have begun and are not completed, and of background launches in progress.
    package var wakes = 0
    /// The number of apps in the background whose open tasks run, or wait for a maintenance window.
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
