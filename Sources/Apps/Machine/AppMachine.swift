package import NightshiftAPI
package import Store

/// The states of one app and its process: takes inputs, and returns actions.
///
/// It reads no clock and touches no process. Limits count awake seconds (``ClockReading/awakeSeconds``), pauses count
/// seconds since 1970. The states and their transitions are UIKit's: not running → inactive → active → inactive →
/// background → suspended, and from each of them to not running.
///
/// Its knowledge of the process is in ``record`` and outlives the service (`AppMachine+ProcessState`). A service that
/// starts determines everything else again.
package struct AppMachine: Sendable {
    /// The part of the state that is stored.
    package internal(set) var record: AppRecord
    /// Whether the app has a desktop entry, so that the service can launch it.
    package var isInstalled: Bool
    /// The limit in seconds for wakes whose source has no limit of its own (`X-Nightshift-WakeLimit`).
    package var wakeLimit: Double
    /// The background modes that the app's entry declares (`X-Nightshift-BackgroundModes`).
    package var modes: Set<BackgroundMode> = []
    /// Whether wakes start a program of their own (`X-Nightshift-Wake`).
    package var hasWakeCommand = false
    /// The terms of its background time.
    package var terms = BackgroundTerms()
    /// The phase of doze, which says whether background work runs on the device.
    package internal(set) var device = DozePhase.awake

    var phase = Phase.absent
    /// Whether the process has its command stream open.
    package internal(set) var isConnected = false
    /// The number of the next command. The record keeps the last number used.
    var nextNumber: Int64
    /// Wanted wakes, as the store last returned them.
    var wanted: [WantedWake] = []
    /// For each wake identity, the newest wake that has ended. The wakes that the store returns may be older.
    var finished: [WantedWake.Identity: Int64] = [:]
    /// Boot seconds less awake seconds, at the last reading of the clocks.
    var sleptSeconds: Double = 0
    /// Background tasks that the process has not reported again since its connection broke. The deadline for that is
    /// `confirmBy`.
    var unconfirmed: Set<TaskKey> = []
    var confirmBy: Double?
    /// Whether the journal already has an entry for the current pause after faults.
    var hasToldPause = false

    enum Phase: Sendable {
        case absent
        /// The launch is in progress.
        case starting
        case present
        /// Suspended: the app has nothing left to do.
        case frozen
        /// Frozen by doze with background tasks open, until a maintenance window.
        case standing
    }

    /// The key of a background task: its number, and the pid of the secondary process that began it; nil for the app's
    /// own process.
    struct TaskKey: Hashable, Sendable {
        var guest: Int32?
        var number: Int64
    }

    /// - Parameter firstNumber: the number of the first command; greater than any that a process can still hold from an
    ///   earlier run of the service.
    package init(record: AppRecord, isInstalled: Bool, wakeLimit: Double, firstNumber: Int64) {
        self.record = record
        self.isInstalled = isInstalled
        self.wakeLimit = wakeLimit
        nextNumber = firstNumber
    }

    /// Seconds that the app has for `didEnterBackground` (UIKit: about five).
    package static let backgroundLimit: Double = 5
    /// Seconds that the app has for a snapshot; it is suspended even if none arrives.
    package static let snapshotLimit: Double = 5
    /// Seconds between the request to quit and the kill.
    package static let quitLimit: Double = 5
    /// Seconds that an app in the foreground has to answer how to present a notification.
    package static let presentationLimit: Double = 5
    /// Seconds that a process launched in the background has to connect. After that it is assumed not to link the
    /// library.
    package static let connectLimit: Double = 20
    /// Seconds between the launch of an app that links the library and its first state (Apple's watchdog).
    package static let launchLimit: Double = 20
    /// Seconds after a connection within which a process reports its background tasks again, or a command its first
    /// one.
    package static let confirmationLimit: Double = 5
    /// The first and the longest pause in seconds before a failed suspension is tried again.
    static let firstSuspensionPause: Double = 10
    static let longestSuspensionPause: Double = 300
    /// The first pause of launches after a fault, in seconds; each further fault doubles it.
    package static let firstFaultPause: Double = 1
    package static let longestFaultPause: Double = 3_600
    /// The first delay of tasks added in the background, in seconds. Apple's resume rate limiter was observed to begin
    /// with this, and to double.
    package static let firstStartDelay: Double = 60
    package static let longestStartDelay: Double = 86_400

    /// Awake seconds at which ``tick(now:)`` has something to do.
    package var nextDeadline: Double? {
        // An app that is being ended has no other deadline.
        if let ending { return ending.deadline }
        let pause: Double? =
            phase == .absent && isInstalled && !record.isForceQuit && !wanted.isEmpty ? faultPauseEnd : nil
        return
            (commands.map(\.deadline) + [
                overdueWake?.deadline, nextWarning, nextGivingUp, nextExpiry, connectBy, launchBy, nextConfirmation,
                nextExpiration, pause, suspendAgain,
            ])
            .compactMap(\.self).min()
    }

    /// Whether ``tick(now:)`` has something to do.
    package func isDue(_ now: ClockReading) -> Bool { nextDeadline ?? .infinity <= now.awakeSeconds }

    /// The end of the pause after faults, in awake seconds, computed at the last reading of the clocks.
    var faultPauseEnd: Double?

    /// The time of the next try to suspend, in awake seconds. The pause before it is `suspensionPause`.
    var suspendAgain: Double?
    var suspensionPause: Double = 0

    /// The time until which the app is not launched in the background after faults, in seconds since 1970; nil if it
    /// may be.
    package func launchesPausedUntil(now: ClockReading) -> Double? {
        guard record.faults > 0 else { return nil }
        var pause = Self.firstFaultPause
        for _ in 1..<max(1, min(record.faults, 16)) { pause = min(pause * 2, Self.longestFaultPause) }
        return Self.end(of: pause, from: record.faultAt, now: now)
    }

    /// Whether the app runs in the background or is suspended. Tasks that it adds then are discretionary.
    package var isInBackground: Bool { record.isInBackground }

    /// The time until which tasks that the app adds in the background do not start, in seconds since 1970.
    package func startsPausedUntil(now: ClockReading) -> Double? {
        record.startsPausedUntil(now: now)
    }

    /// The end of a pause; nil if it is over. Setting the wall clock back does not make it longer.
    static func end(of pause: Double, from start: Double, now: ClockReading) -> Double? {
        let end = start + pause
        return now.wallSeconds >= start && now.wallSeconds < end ? end : nil
    }

    mutating func updateLaunchPause(_ now: ClockReading) {
        faultPauseEnd = launchesPausedUntil(now: now).map { now.awakeSeconds + $0 - now.wallSeconds }
    }
}
