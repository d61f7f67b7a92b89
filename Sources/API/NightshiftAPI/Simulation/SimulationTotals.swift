package import Foundation

/// The totals of a simulation. Times are in seconds.
package struct SimulationTotals: Hashable, Sendable, Codable {
    package var start: Date
    package var end: Date
    /// The number of times that the device left sleep or doze: maintenance windows, wakes from sleep, and ends of doze.
    package var wakeUps = 0
    package var inUse = 0.0
    /// The time in which the device was neither in use nor dozing, because it was plugged in, kept awake, or not idle
    /// for long enough.
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
    /// The time for which the app ran in the background, without paused time.
    package var background = 0.0
    /// The time for which the app kept the device awake.
    package var held = 0.0
    package var launches = 0
    /// The number of times that the app was woken.
    package var wakes = 0
    /// The number of times that the service ended the app, by cause.
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

/// The number of bytes that were transferred over one kind of network.
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

/// The time for which transfers waited for one reason.
package struct WaitTotals: Hashable, Sendable, Codable {
    package var reason: WaitReason
    /// The number of transfers that waited for this reason.
    package var transfers: Int
    /// The sum of the waits of all transfers.
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

/// The number of accepted transfers, and the numbers of ended transfers by result.
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
    /// The number of fetches that started, including those for refresh tasks of apps.
    package var fetches = 0
    /// The number of fetches with new data.
    package var newData = 0
    /// The number of fetches without new data.
    package var noData = 0
    /// The number of fetches that failed.
    package var failed = 0
    /// The number of times that the user opened apps with background fetches.
    package var openings = 0
    /// The number of openings within an hour after the last fetch or use of the app.
    package var freshOpenings = 0
    /// The number of times that the device was woken for fetches.
    package var deviceWakes = 0
    /// The number of fetches for which the device did not have to be woken.
    package var savedWakes = 0
    /// The number of processing tasks that started.
    package var processing = 0
    /// The number of processing tasks that their apps completed.
    package var processed = 0

    package init() {}
}

/// The totals of region events and significant changes.
package struct LocationTotals: Hashable, Sendable, Codable {
    /// The numbers of events of which apps had to be notified.
    package var entered = 0
    package var left = 0
    package var changes = 0
    /// The number of events that apps handled. The next value is the number of events that apps received but did not
    /// handle.
    package var wakes = 0
    /// The number of requests to the receiver.
    package var fixes = 0
    /// The number of seconds for which the receiver was on.
    package var receiverSeconds = 0.0

    package init() {}
}
