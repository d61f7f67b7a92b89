import Foundation
import NightshiftAPI
import Store

/// How wakes end: completed, too late, or given up.
extension AppMachine {
    /// Awake seconds until which a wake has to be completed whose time begins now.
    ///
    /// The time that a source gives begins when the app hears of the wake (``startDeadline(ofWake:_:)``). Until then it has
    /// as long as a launch may take in addition. A session's includes that, and so does that of a program that never hears
    /// of it.
    func deadline(of wake: WantedWake, _ now: ClockReading) -> Double {
        let isHeardLater = wake.source.rules.limit != nil && !isConnected && !completesByExiting
        return now.awakeSeconds + wake.source.limit(declared: wakeLimit) + (isHeardLater ? Self.launchLimit : 0)
    }

    /// The time of every wake under way begins now.
    mutating func limitWakes(_ now: ClockReading) {
        for index in begun.indices { begun[index].deadline = deadline(of: begun[index].wake, now) }
    }

    /// The app hears of a wake now. A session's time goes on, unless it was over and the launch had more for another source.
    mutating func startDeadline(ofWake index: Int, _ now: ClockReading) {
        let wake = begun[index].wake
        guard let end = begun[index].deadline, wake.source.rules.limit != nil || end <= now.awakeSeconds else { return }
        begun[index].deadline = deadline(of: wake, now)
    }

    /// Whether its exit status says that it has done what it was launched for: it does not link the library, as far as is
    /// known, or what wakes start is a program of its own.
    var completesByExiting: Bool { !hasConnected && (hasWakeCommand || !record.linksLibrary) }

    /// Awake seconds at which it has taken too long over what it was woken for, and why it is ended then.
    ///
    /// A program that completes everything with one exit status has the time of the longest wake.
    var overdueWake: (deadline: Double, cause: ExitCause)? {
        let limited = begun.compactMap { wake in
            wake.deadline.map { (deadline: $0, cause: wake.wake.source.rules.overdue) }
        }
        return completesByExiting
            ? limited.max { $0.deadline < $1.deadline } : limited.min { $0.deadline < $1.deadline }
    }

    /// The app is done with a wake.
    mutating func complete(_ wake: WantedWake, _ outcome: WakeOutcome) -> [AppAction] {
        finish(wake)
        return [.finishWake(wake, outcome), .note(.appWakeCompleted, wake.name)]
    }

    /// Gives up what is wanted for too long, and what does not outlive a force quit.
    mutating func dropOutdated(_ now: ClockReading) -> [AppAction] {
        var actions: [AppAction] = []
        if record.isForceQuit {
            let why = "Its user force-quit the app."
            actions = dropBegun(why) { !$0.outlivesForceQuit }
            actions += discard(wanted.filter { !$0.source.rules.outlivesForceQuit }, why)
        }
        let expired = wanted.filter { $0.isExpired(now) && !isUnderWay($0) }
        return actions + discard(expired, "Its time is over.")
    }

    /// Gives up the chances that a process had and has not used.
    mutating func dropLost() -> [AppAction] {
        dropBegun("Its process ended first.") { !$0.isTriedAgain }
    }

    private mutating func dropBegun(_ why: String, where isMeant: (WakeRules) -> Bool) -> [AppAction] {
        let dropped = begun.map(\.wake).filter { isMeant($0.source.rules) }
        guard !dropped.isEmpty else { return [] }
        begun.removeAll { isMeant($0.wake.source.rules) }
        return discard(dropped, why)
    }

    /// A later wake of the same key may have been given up before this one.
    private mutating func finish(_ wake: WantedWake) {
        finished[wake.identity] = max(finished[wake.identity] ?? 0, wake.through)
    }

    private func isUnderWay(_ wake: WantedWake) -> Bool {
        begun.contains { $0.wake.identity == wake.identity && $0.wake.through == wake.through }
    }

    /// Wakes that have ended already are left as they are.
    private mutating func discard(_ wakes: [WantedWake], _ why: String) -> [AppAction] {
        wakes.flatMap { wake -> [AppAction] in
            guard wake.through > finished[wake.identity] ?? 0 else { return [] }
            finish(wake)
            return [.finishWake(wake, .dropped), .note(.appWakeDropped, "\(wake.name): \(why)")]
        }
    }
}

extension WantedWake {
    /// The session, or what of another source it is about.
    var name: String { key.isEmpty ? source.rawValue : key }

    func isExpired(_ now: ClockReading) -> Bool { expires.map { $0 <= now.wallSeconds } ?? false }
}

extension WakeStatus {
    init(_ wake: WantedWake, deadline: Date?) {
        let key = wake.key.isEmpty ? nil : wake.key
        self.init(
            reason: wake.reason, session: wake.source == .session ? wake.key : nil,
            key: wake.source == .session ? nil : key, deadline: deadline)
    }
}
