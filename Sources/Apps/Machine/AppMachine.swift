package import NightshiftAPI
package import Store

/// One app's states and its process: what happens goes in, what is to be done comes out.
///
/// It reads no clock and touches no process. Boot seconds count limits, seconds since 1970 what is kept. The states and
/// their exits are UIKit's: not running → inactive → active → inactive → background → suspended, and from every one of
/// them to not running.
package struct AppMachine: Sendable {
    /// What is kept.
    package internal(set) var record: AppRecord
    /// Whether a desktop entry lets the service launch it.
    package var isInstalled: Bool
    /// Seconds that a background launch may take (`X-Nightshift-WakeLimit`).
    package var wakeLimit: Double
    /// Whether wakes start a program of their own (`X-Nightshift-Wake`).
    package var hasWakeCommand = false

    var phase = Phase.absent
    /// Whether the process reads commands.
    package internal(set) var isConnected = false
    /// Whether it ever has: it links the library.
    var hasConnected = false
    /// Commands that are not acknowledged, in their order.
    var commands: [Pending] = []
    var nextNumber: Int64
    /// Reasons to wake it, as the store tells them.
    var wanted: [WantedWake] = []
    /// How far it has completed each session's events: what the store tells may be older.
    var finished: [String: Int64] = [:]
    /// Reasons that it was woken for and has not completed.
    var begun: [BegunWake] = []
    /// Why its end was asked for, and when it is made to end.
    var ending: Ending?
    /// Something has changed since the last snapshot.
    var needsSnapshot = false
    /// Boot seconds at which the service launched the process.
    var launchedAt: Double?
    /// Until when a process launched in the background may still turn out to link the library.
    var connectBy: Double?
    /// Whether the pause after faults has been told.
    var hasToldPause = false

    enum Phase: Sendable {
        case absent
        /// Its launch is under way.
        case starting
        case present
        case frozen
    }

    struct Pending: Sendable {
        var command: ProcessCommand
        /// Boot seconds.
        var deadline: Double?
    }

    struct BegunWake: Sendable {
        var wake: WantedWake
        /// The command that asks the app to handle it; nil until it is connected.
        var command: Int64?
        /// Boot seconds; nil while the user sees the app.
        var deadline: Double?
    }

    struct Ending: Sendable {
        var cause: ExitCause
        /// Boot seconds at which it is killed; nil when it has been.
        var deadline: Double?
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
    /// Seconds in which a process launched in the background may connect before it is taken for one that never will.
    package static let connectLimit: Double = 20
    /// Seconds; doubled by each further fault.
    package static let firstFaultPause: Double = 1
    package static let longestFaultPause: Double = 3_600
    /// Seconds: Apple's resume rate limiter was seen to begin with this, and to double.
    package static let firstStartDelay: Double = 60
    package static let longestStartDelay: Double = 86_400

    /// Boot seconds at which ``tick(now:)`` has something to do.
    package var nextDeadline: Double? {
        // Whose end is under way has no other.
        if let ending { return ending.deadline }
        let pause: Double? =
            phase == .absent && isInstalled && !record.isForceQuit && !wanted.isEmpty ? faultPauseEnd : nil
        return
            (commands.map(\.deadline) + begun.map(\.deadline) + [connectBy, pause])
            .compactMap(\.self).min()
    }

    /// Boot seconds, as of the last look at the clocks.
    var faultPauseEnd: Double?

    /// How long it is not launched in the background after its faults, in seconds since 1970.
    package func launchesPausedUntil(now: ClockReading) -> Double? {
        guard record.faults > 0 else { return nil }
        var pause = Self.firstFaultPause
        for _ in 1..<max(1, min(record.faults, 16)) { pause = min(pause * 2, Self.longestFaultPause) }
        return Self.end(of: pause, from: record.faultAt, now: now)
    }

    /// How long tasks that it adds in the background do not start, in seconds since 1970.
    package func startsPausedUntil(now: ClockReading) -> Double? {
        guard record.state == .background || record.state == .suspended, record.startDelay > 0 else { return nil }
        return Self.end(of: record.startDelay, from: record.startDelayFrom, now: now)
    }

    /// The end of a pause that is not over. A wall clock that was set back must not make it longer.
    static func end(of pause: Double, from start: Double, now: ClockReading) -> Double? {
        let end = start + pause
        return now.wallSeconds >= start && now.wallSeconds < end ? end : nil
    }

    mutating func lookAtPause(_ now: ClockReading) {
        faultPauseEnd = launchesPausedUntil(now: now).map { now.bootSeconds + $0 - now.wallSeconds }
    }
}

/// What an ``AppMachine`` wants done, in this order.
package enum AppAction: Hashable, Sendable {
    case spawn(background: Bool, wakes: [WantedWake], arguments: [String])
    /// To the process's stream of commands.
    case send(ProcessCommand)
    case freeze
    case thaw
    /// SIGTERM.
    case terminate
    /// SIGKILL, to all of it.
    case kill
    /// The app has completed its wake for a session. Where its exit status was the completion, that acknowledges the
    /// session's messages too.
    case finishWake(session: String, through: Int64, acknowledging: Bool)
    case cancelTransfers
    /// Tasks that were held back because the app was woken often may start.
    case endStartDelay
    case note(Decision, String?)
}
