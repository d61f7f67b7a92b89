package import Foundation

/// What a simulation comes to: the sums over its time. Times are seconds.
package struct SimulationTotals: Hashable, Sendable, Codable {
    package var start: Date
    package var end: Date
    /// How often the device left sleep or doze: windows that opened, wakings from sleep, ends of doze.
    package var wakeUps = 0
    package var inUse = 0.0
    /// Not in use, and not in doze: plugged in, held awake, or left alone only a moment ago.
    package var awake = 0.0
    package var dozing = 0.0
    package var inWindows = 0.0
    package var asleep = 0.0
    package var windows: [WindowCount] = []
    package var apps: [AppTotals] = []
    package var networks: [NetworkTotals] = []
    package var waits: [WaitTotals] = []
    package var transfers = TransferTotals()
    /// Nil where no app takes part in background refresh.
    package var refresh: RefreshTotals?
    /// Nil where no app has anything to do with location.
    package var location: LocationTotals?

    package init(start: Date, end: Date) {
        self.start = start
        self.end = end
    }
}

/// How many windows opened for one reason.
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
    /// Running in the background, time standing still not included.
    package var background = 0.0
    /// For how long it held the device awake.
    package var held = 0.0
    package var launches = 0
    /// How often it was woken.
    package var wakes = 0
    /// How often the service ended it, by cause.
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

/// The bytes that went over one kind of network.
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

/// How long transfers waited for one reason.
package struct WaitTotals: Hashable, Sendable, Codable {
    package var reason: WaitReason
    /// How many transfers did.
    package var transfers: Int
    /// All of them together.
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

/// The numbers of transfers: accepted, and by how they ended.
package struct TransferTotals: Hashable, Sendable, Codable {
    package var accepted = 0
    package var completed = 0
    package var failed = 0
    package var cancelled = 0
    /// How often one that ran had to stop.
    package var interruptions = 0

    package init() {}
}

/// What background refresh came to.
package struct RefreshTotals: Hashable, Sendable, Codable {
    /// Fetches that began, those for tasks that apps submitted included, and how they ended.
    package var fetches = 0
    package var newData = 0
    package var noData = 0
    package var failed = 0
    /// How often apps that are fetched for were opened, and how often that was within an hour of their last fetch or use.
    package var openings = 0
    package var freshOpenings = 0
    /// How often the device was woken for fetches, and how many needed no wake of their own.
    package var deviceWakes = 0
    package var savedWakes = 0
    /// Processing tasks that began, and those that ended as their app wanted.
    package var processing = 0
    package var processed = 0

    package init() {}
}

/// What regions and significant changes came to.
package struct LocationTotals: Hashable, Sendable, Codable {
    /// Crossings and changes of which apps were to be told.
    package var entered = 0
    package var left = 0
    package var changes = 0
    /// How often apps handled such a thing, or were given it to handle and did not.
    package var wakes = 0
    /// How often the receiver was asked, and the seconds for which it was on.
    package var fixes = 0
    package var receiverSeconds = 0.0

    package init() {}
}
