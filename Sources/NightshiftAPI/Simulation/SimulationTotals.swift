package import Foundation

/// The totals of a simulation. Times are in seconds.
package struct SimulationTotals: Hashable, Sendable, Codable {
    package var start: Date
    package var end: Date
    /// The number of times that the device left sleep or doze: maintenance windows, wakes from sleep, and ends of doze.
    package var wakeUps = 0
    package var inUse = 0.0
    /// The time in which the device was neither in use nor dozing: plugged in, kept awake, or not idle for long enough.
    package var awake = 0.0
    package var dozing = 0.0
    package var inWindows = 0.0
    package var asleep = 0.0
    package var windows: [WindowCount] = []
    package var apps: [AppTotals] = []
    package var networks: [NetworkTotals] = []
    package var waits: [WaitTotals] = []
    package var transfers = TransferTotals()
    /// The totals of background refresh; nil if no app uses it.
    package var refresh: RefreshTotals?
    /// The totals of location; nil if no app uses it.
    package var location: LocationTotals?

    package init(start: Date, end: Date) {
        self.start = start
        self.end = end
    }
}

/// The number of maintenance windows that opened for one reason.
package struct WindowCount: Hashable, Sendable, Codable {
    package var reason: WindowReason
    package var count: Int

    package init(reason: WindowReason, count: Int) {
        self.reason = reason
        self.count = count
    }
}

/// The totals of one app.
package struct AppTotals: Hashable, Sendable, Codable {
    package var app: AppID
    package var foreground = 0.0
    /// The time for which it ran in the background, not including paused time.
    package var background = 0.0
    /// The time for which it kept the device awake.
    package var held = 0.0
    package var launches = 0
    /// The number of times that it was woken.
    package var wakes = 0
    /// The number of times that the service ended it, by cause.
    package var kills: [KillCount] = []

    package init(app: AppID) {
        self.app = app
    }
}

package struct KillCount: Hashable, Sendable, Codable {
    package var cause: ExitCause
    package var count: Int

    package init(cause: ExitCause, count: Int) {
        self.cause = cause
        self.count = count
    }
}

/// The bytes that were transferred over one kind of network.
package struct NetworkTotals: Hashable, Sendable, Codable {
    package var kind: NetworkKind
    package var isExpensive: Bool
    package var bytes: Int64

    package init(kind: NetworkKind, isExpensive: Bool, bytes: Int64) {
        self.kind = kind
        self.isExpensive = isExpensive
        self.bytes = bytes
    }
}

/// The time that transfers waited for one reason.
package struct WaitTotals: Hashable, Sendable, Codable {
    package var reason: WaitReason
    /// The number of transfers that waited for this reason.
    package var transfers: Int
    /// The sum over all transfers.
    package var sum: Double
    /// The longest single wait.
    package var longest: Double

    package init(reason: WaitReason, transfers: Int, sum: Double, longest: Double) {
        self.reason = reason
        self.transfers = transfers
        self.sum = sum
        self.longest = longest
    }
}

/// The numbers of transfers: those accepted, and those that ended, by result.
package struct TransferTotals: Hashable, Sendable, Codable {
    package var accepted = 0
    package var completed = 0
    package var failed = 0
    package var cancelled = 0
    /// The number of times that a running transfer had to stop.
    package var interruptions = 0

    package init() {}
}

/// The totals of background refresh.
package struct RefreshTotals: Hashable, Sendable, Codable {
    /// The number of fetches that started, including those for refresh tasks of apps, and the numbers for each result.
    package var fetches = 0
    package var newData = 0
    package var noData = 0
    package var failed = 0
    /// The number of times that apps with background fetches were opened, and how many of these were within an hour
    /// after their last fetch or use.
    package var openings = 0
    package var freshOpenings = 0
    /// The number of times that the device was woken for fetches, and the number of fetches that needed no wake of
    /// their own.
    package var deviceWakes = 0
    package var savedWakes = 0
    /// The number of processing tasks that started, and of those that their app completed.
    package var processing = 0
    package var processed = 0

    package init() {}
}

/// The totals of region events and significant changes.
package struct LocationTotals: Hashable, Sendable, Codable {
    /// The numbers of events that apps had to be notified of.
    package var entered = 0
    package var left = 0
    package var changes = 0
    /// The number of events that apps handled, and of those that apps received but did not handle.
    package var wakes = 0
    /// The number of requests to the receiver, and the seconds for which it was on.
    package var fixes = 0
    package var receiverSeconds = 0.0

    package init() {}
}
