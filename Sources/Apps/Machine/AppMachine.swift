package import NightshiftAPI
package import Store

/// One app's states and its process: what happens goes in, what is to be done comes out.
///
/// It reads no clock and touches no process. Limits count awake seconds (``ClockReading/awakeSeconds``), pauses seconds
/// since 1970. The states and their exits are UIKit's: not running → inactive → active → inactive → background →
/// suspended, and from every one of them to not running.
///
/// What it knows of the process is in ``record`` and outlives the service (`AppMachine+ProcessState`). Everything that it
/// keeps beside the record is told or found out anew by a service that starts.
package struct AppMachine: Sendable {
    /// The part that is stored.
    package internal(set) var record: AppRecord
    /// Whether a desktop entry lets the service launch it.
    package var isInstalled: Bool
    /// Seconds that a wake may take whose source has no limit of its own (`X-Nightshift-WakeLimit`).
    package var wakeLimit: Double
    /// What its entry lets it be woken for (`X-Nightshift-BackgroundModes`).
    package var modes: Set<BackgroundMode> = []
    /// Whether wakes start a program of their own (`X-Nightshift-Wake`).
    package var hasWakeCommand = false
    /// The terms of its background time.
    package var terms = BackgroundTerms()
    /// Whether background work runs on the device.
    package internal(set) var device = DozePhase.awake

    var phase = Phase.absent
    /// Whether the process reads commands.
    package internal(set) var isConnected = false
    /// Of the next command; ``newCommand(_:)`` keeps the last one.
    var nextNumber: Int64
    /// Reasons to wake it, as the store tells them.
    var wanted: [WantedWake] = []
    /// How far it is done with what has woken it: what the store tells may be older.
    var finished: [WantedWake.Identity: Int64] = [:]
    /// Boot seconds less awake seconds, as of the last look at the clocks.
    var sleptSeconds: Double = 0
    /// Background tasks that the process has not told again since its connection broke, and until when it has to.
    var unconfirmed: Set<TaskKey> = []
    var confirmBy: Double?
    /// Whether the pause after faults has been told.
    var hasToldPause = false

    enum Phase: Sendable {
        case absent
        /// Its launch is under way.
        case starting
        case present
        /// Suspended: it has nothing left to do.
        case frozen
        /// In doze, with background tasks open: it stands still until a window.
        case standing
    }

    /// A background task: its number, and the process that gave it where that is not the app's own.
    struct TaskKey: Hashable, Sendable {
        var guest: Int32?
        var number: Int64
    }

    /// - Parameter firstNumber: of its commands; greater than any that a process can still hold from an earlier service.
    package init(record: AppRecord, isInstalled: Bool, wakeLimit: Double, firstNumber: Int64) {
        self.record = record
        self.isInstalled = isInstalled
        self.wakeLimit = wakeLimit
        nextNumber = firstNumber
    }

    /// Seconds that `didEnterBackground` has (UIKit: about five).
    package static let backgroundLimit: Double = 5
    /// Seconds for a snapshot; without one the app is suspended all the same.
    package static let snapshotLimit: Double = 5
    /// Seconds between being asked to quit and being killed.
    package static let quitLimit: Double = 5
    /// Seconds in which an app in front may say what of a notification is shown.
    package static let presentationLimit: Double = 5
    /// Seconds in which a process launched in the background may connect before it is taken for one that never will.
    package static let connectLimit: Double = 20
    /// Seconds between the launch of an app that links the library and its first state (Apple's watchdog).
    package static let launchLimit: Double = 20
    /// Seconds after a connection in which a process tells its background tasks again, or a command its first one.
    package static let confirmationLimit: Double = 5
    /// Seconds until what could not be suspended is tried again, at first and at most.
    static let firstSuspensionPause: Double = 10
    static let longestSuspensionPause: Double = 300
    /// Seconds; doubled by each further fault.
    package static let firstFaultPause: Double = 1
    package static let longestFaultPause: Double = 3_600
    /// Seconds: Apple's resume rate limiter was seen to begin with this, and to double.
    package static let firstStartDelay: Double = 60
    package static let longestStartDelay: Double = 86_400

    /// Awake seconds at which ``tick(now:)`` has something to do.
    package var nextDeadline: Double? {
        // An app whose end is under way has no other deadline.
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

    /// Awake seconds, as of the last look at the clocks.
    var faultPauseEnd: Double?

    /// When what could not be suspended is tried again, in awake seconds, and the pause before that.
    var suspendAgain: Double?
    var suspensionPause: Double = 0

    /// How long it is not launched in the background after its faults, in seconds since 1970.
    package func launchesPausedUntil(now: ClockReading) -> Double? {
        guard record.faults > 0 else { return nil }
        var pause = Self.firstFaultPause
        for _ in 1..<max(1, min(record.faults, 16)) { pause = min(pause * 2, Self.longestFaultPause) }
        return Self.end(of: pause, from: record.faultAt, now: now)
    }

    /// Whether it is running, and its user does not see it: what it adds waits for a good moment.
    package var isInBackground: Bool { record.isInBackground }

    /// How long tasks that it adds in the background do not start, in seconds since 1970.
    package func startsPausedUntil(now: ClockReading) -> Double? {
        record.startsPausedUntil(now: now)
    }

    /// The end of a pause that is not over. A wall clock that was set back must not make it longer.
    static func end(of pause: Double, from start: Double, now: ClockReading) -> Double? {
        let end = start + pause
        return now.wallSeconds >= start && now.wallSeconds < end ? end : nil
    }

    mutating func updateLaunchPause(_ now: ClockReading) {
        faultPauseEnd = launchesPausedUntil(now: now).map { now.awakeSeconds + $0 - now.wallSeconds }
    }
}
