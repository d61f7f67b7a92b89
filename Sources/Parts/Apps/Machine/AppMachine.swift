package import NightshiftAPI
package import Store

/// The state machine of one app and its process. It takes inputs and returns actions.
///
/// The machine does not read clocks and does not touch processes. Limits count awake seconds
/// (``ClockReading/awakeSeconds``), and pauses count seconds since 1970. The states and their transitions are UIKit's:
/// not running → inactive → active → inactive → background → suspended, and from each of them to not running.
///
/// The machine's knowledge of the process is stored in ``record``, and so survives a restart of the service
/// (`AppMachine+ProcessState`). After a restart, the service determines everything else again.
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
    /// The terms of the app's background time.
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
    /// The boot seconds minus the awake seconds, at the last reading of the clocks.
    var sleptSeconds: Double = 0
    /// Background tasks that the process has not reported again since its connection broke. `confirmBy` is the deadline
    /// for these reports.
    var unconfirmed: Set<TaskKey> = []
    var confirmBy: Double?
    /// Whether the journal already has an entry for the current pause after faults.
    var hasToldPause = false

    enum Phase: Sendable {
        case absent
        /// A launch is in progress.
        case starting
        case present
        /// The app is suspended, because it has no work left.
        case frozen
        /// The app is frozen by doze with background tasks open, until a maintenance window.
        case standing
    }

    /// The key of a background task. It consists of the task's number and the pid of the secondary process that began
    /// it; the pid is nil for the app's own process.
    struct TaskKey: Hashable, Sendable {
        var guest: Int32?
        var number: Int64
    }

    /// Creates the machine of an app from its stored record.
    ///
    /// - Parameter firstNumber: the number of the first command. It must be greater than all numbers that a process may
    ///   still have from an earlier run of the service.
    package init(record: AppRecord, isInstalled: Bool, wakeLimit: Double, firstNumber: Int64) {
        self.record = record
        self.isInstalled = isInstalled
        self.wakeLimit = wakeLimit
        nextNumber = firstNumber
    }

    /// The number of seconds that the app has for `didEnterBackground` (UIKit: about five).
    package static let backgroundLimit: Double = 5
    /// The number of seconds that the app has to make a snapshot. After that it is suspended without one.
    package static let snapshotLimit: Double = 5
    /// The number of seconds between the request to quit and the kill.
    package static let quitLimit: Double = 5
    /// The number of seconds that an app in the foreground has to answer how to present a notification.
    package static let presentationLimit: Double = 5
    /// The number of seconds that a process launched in the background has to connect. After that it is assumed not to
    /// link the library.
    package static let connectLimit: Double = 20
    /// The number of seconds that an app that links the library has from its launch to its first state (Apple's
    /// watchdog).
    package static let launchLimit: Double = 20
    /// The seconds, counted from its connection, in which a process must report its background tasks again. A command
    /// must begin its first task in the same time.
    package static let confirmationLimit: Double = 5
    /// The first and the longest pause in seconds before a failed suspension is tried again.
    static let firstSuspensionPause: Double = 10
    static let longestSuspensionPause: Double = 300
    /// The first pause of launches after a fault, in seconds. Each further fault doubles the pause.
    package static let firstFaultPause: Double = 1
    package static let longestFaultPause: Double = 3_600
    /// The first delay of tasks added in the background, in seconds. Apple's resume rate limiter was observed to begin
    /// with 60 seconds, and to double.
    package static let firstStartDelay: Double = 60
    package static let longestStartDelay: Double = 86_400

    /// The time, in awake seconds, at which ``tick(now:)`` must be called next.
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

    /// Returns whether ``tick(now:)`` must be called now.
    package func isDue(_ now: ClockReading) -> Bool { nextDeadline ?? .infinity <= now.awakeSeconds }

    /// The end of the pause after faults, in awake seconds, computed at the last reading of the clocks.
    var faultPauseEnd: Double?

    /// The time of the next attempt to suspend the app, in awake seconds. The pause before this attempt is
    /// `suspensionPause`.
    var suspendAgain: Double?
    var suspensionPause: Double = 0

    /// Returns the time, in seconds since 1970, until which the app is not launched in the background after faults; nil
    /// if it may be launched.
    package func launchesPausedUntil(now: ClockReading) -> Double? {
        guard record.faults > 0 else { return nil }
        var pause = Self.firstFaultPause
        for _ in 1..<max(1, min(record.faults, 16)) { pause = min(pause * 2, Self.longestFaultPause) }
        return Self.end(of: pause, from: record.faultAt, now: now)
    }

    /// Whether the app runs in the background or is suspended. Tasks that it adds then are discretionary.
    package var isInBackground: Bool { record.isInBackground }

    /// Returns the time, in seconds since 1970, until which tasks that the app adds in the background do not start.
    package func startsPausedUntil(now: ClockReading) -> Double? {
        record.startsPausedUntil(now: now)
    }

    /// Returns the end of a pause; nil if the pause is over. If the wall clock is set back, the pause does not become
    /// longer.
    static func end(of pause: Double, from start: Double, now: ClockReading) -> Double? {
        let end = start + pause
        return now.wallSeconds >= start && now.wallSeconds < end ? end : nil
    }

    mutating func updateLaunchPause(_ now: ClockReading) {
        faultPauseEnd = launchesPausedUntil(now: now).map { now.awakeSeconds + $0 - now.wallSeconds }
    }
}
