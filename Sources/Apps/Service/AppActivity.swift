package import NightshiftAPI

/// The activity of apps in the background, as far as it matters to doze.
package struct AppActivity: Hashable, Sendable {
    /// Apps with open background tasks under the contiguous policy, by their ids.
    package var holders: [AwakeHolder] = []
    /// Wakes that have begun and are not completed, and launches in the background that are under way.
    package var wakes = 0
    /// Apps in the background with open tasks that run, or wait for a window.
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
