import Foundation
import NightshiftAPI
import Store

/// The ends of wakes. A wake is completed, overdue or dropped.
extension AppMachine {
    /// Returns the deadline of a wake whose time begins now, in awake seconds; nil if the wake has no limit.
    ///
    /// The limit of a source begins when the app receives the wake (``startDeadline(ofWake:_:)``). Until then, the
    /// deadline includes the time allowed for a launch. For a session, and for a program that does not link the
    /// library, the limit itself includes the launch. An app that has got the expiration warning of a wake has only the
    /// warning time left.
    func deadline(of wake: BegunWake, _ now: ClockReading) -> Double? {
        let source = wake.wake.source
        let isHeardLater = source.rules.limit != .declared && !isConnected && !completesByExiting
        let seconds = wake.expiration == nil ? source.limit(declared: wakeLimit) : lead(of: source)
        // The app must not run without a limit for a wake that it has not received.
        guard let seconds = seconds ?? (isHeardLater && wake.command == nil ? 0 : nil) else { return nil }
        return now.awakeSeconds + seconds + (isHeardLater ? Self.launchLimit : 0)
    }

    /// Starts the time limit of every wake under way.
    mutating func limitWakes(_ now: ClockReading) {
        for index in begun.indices { begun[index].deadline = deadline(of: begun[index], now) }
    }

    /// Starts the time limit of a wake that the app receives now. The limit of a session continues instead, unless it
    /// was exceeded while the launch had more time for another source.
    mutating func startDeadline(ofWake index: Int, _ now: ClockReading) {
        let rules = begun[index].wake.source.rules
        guard let end = begun[index].deadline, rules.limit != .declared || end <= now.awakeSeconds else { return }
        begun[index].deadline = deadline(of: begun[index], now)
    }

    /// Whether the exit status of the process completes its wakes. That is so if it is not known to link the library,
    /// or if the desktop entry names a separate program for wakes.
    var completesByExiting: Bool { !hasConnected && (hasWakeCommand || !record.linksLibrary) }

    /// The time at which the app exceeds the limit of a wake, in awake seconds, and the cause for which it is then
    /// ended.
    ///
    /// A program that completes all wakes with one exit status has the time of the longest limit.
    var overdueWake: (deadline: Double, cause: ExitCause)? {
        let limited = begun.compactMap { wake in
            wake.deadline.flatMap { end in wake.wake.source.rules.overdue.map { (deadline: end, cause: $0) } }
        }
        guard completesByExiting else { return limited.min { $0.deadline < $1.deadline } }
        return isUnlimited ? nil : limited.max { $0.deadline < $1.deadline }
    }

    /// Whether a wake without a limit is under way.
    var isUnlimited: Bool { begun.contains { $0.wake.source.rules.limit == .unlimited } }

    /// Completes the wakes under way that match a condition.
    mutating func complete(
        _ outcome: WakeOutcome, _ now: ClockReading, where isMeant: (BegunWake) -> Bool = { _ in true }
    ) -> [AppAction] {
        removeBegun(now, where: isMeant).flatMap { wake -> [AppAction] in
            var inputs: [String: String] = [:]
            if wake.source.rules.hasResult { inputs["result"] = outcome.result?.rawValue }
            return [.finishWake(wake, outcome), .note(.appWakeCompleted, wake.name, inputs: inputs)]
        }
    }

    /// Drops wakes that have expired, cannot outlive a force quit, or can never begin.
    mutating func dropOutdated(_ now: ClockReading) -> [AppAction] {
        sleptSeconds = now.bootSeconds - now.awakeSeconds
        var actions: [AppAction] = []
        if record.isForceQuit { actions = dropBegun(Self.forceQuitReason, now) { !$0.outlivesForceQuit } }
        for wake in wanted where isOpen(wake) && !isUnderWay(wake) {
            if let why = reasonToDrop(wake, now) { actions += discard([wake], why) }
        }
        return actions
    }

    /// Returns the reason why a waiting wake is dropped; nil if it continues to wait.
    private func reasonToDrop(_ wake: WantedWake, _ now: ClockReading) -> String? {
        let rules = wake.source.rules
        if record.isForceQuit, !rules.outlivesForceQuit { return Self.forceQuitReason }
        if wake.isExpired(now) { return "The wake has expired." }
        // A feature waits for the result of these wakes, so they are dropped now. Other wakes wait until the entry
        // changes.
        guard wake.source.rules.hasResult else { return nil }
        if let mode = rules.mode, !modes.contains(mode) {
            return "The app's entry does not declare the background mode '\(mode.rawValue)'."
        }
        return phase == .absent && !isInstalled ? "The app has no desktop entry." : nil
    }

    private static let forceQuitReason = "You force-quit the app."

    /// The time at which a waiting wake with a result expires, in awake seconds. Such wakes have a deadline, because a
    /// feature waits for the result. Other wakes are dropped at the next step.
    var nextExpiry: Double? {
        let waiting = wanted.filter { $0.source.rules.hasResult && isOpen($0) && !isUnderWay($0) }
        // The added time is more than a rounding error, so that the wake has expired when the deadline arrives.
        return waiting.compactMap(\.expires).min().map { $0 - sleptSeconds + 0.001 }
    }

    /// Drops wakes that are not tried again after their process has ended.
    mutating func dropLost(_ why: String, _ now: ClockReading) -> [AppAction] {
        dropBegun(why, now) { !$0.isTriedAgain }
    }

    /// Ends wakes that are not tried again after their process has ended with an unknown status. The process may have
    /// completed them.
    mutating func endUnseen(_ why: String, _ now: ClockReading) -> [AppAction] {
        endUnseen(removeBegun(now) { !$0.wake.source.rules.isTriedAgain }, why)
    }

    private func endUnseen(_ wakes: [WantedWake], _ why: String) -> [AppAction] {
        wakes.flatMap { [.finishWake($0, .unseen(why)), .note(.appWakeDropped, "\($0.name): \(why)")] }
    }

    /// Ends the fetches of an app that came to the foreground, without a result. In the foreground the app fetches
    /// without being woken. The wakes have no limit there, and would stay under way for as long as the app is in the
    /// foreground.
    mutating func endFetchesInFront(_ now: ClockReading) -> [AppAction] {
        let why = "Its app came to the foreground."
        let waiting = wanted.filter { $0.source == .fetch && isOpen($0) && !isUnderWay($0) }
        for wake in waiting { finish(wake) }
        return endUnseen(removeBegun(now) { $0.wake.source == .fetch } + waiting, why)
    }

    /// Ends the wakes with a payload after a program without the library has ended with an unknown status. The program
    /// has received the payloads, so they are not sent again.
    mutating func dropHeard(_ now: ClockReading) -> [AppAction] {
        guard completesByExiting else { return [] }
        let heard = removeBegun(now) { $0.wake.source.rules.handover == .payloads }
        return endUnseen(heard, "Its program has ended with an unknown status.")
    }

    private mutating func dropBegun(
        _ why: String, _ now: ClockReading, where isMeant: (WakeRules) -> Bool
    ) -> [AppAction] {
        drop(removeBegun(now) { isMeant($0.wake.source.rules) }, why)
    }

    /// Drops wakes that were under way.
    func drop(_ wakes: [WantedWake], _ why: String) -> [AppAction] {
        wakes.flatMap { [.finishWake($0, .dropped(why)), .note(.appWakeDropped, "\($0.name): \(why)")] }
    }

    /// Removes wakes from the list of wakes under way. Their commands no longer need an acknowledgement.
    mutating func removeBegun(_ now: ClockReading, where isMeant: (BegunWake) -> Bool) -> [WantedWake] {
        let removed = begun.filter(isMeant)
        guard !removed.isEmpty else { return [] }
        begun.removeAll(where: isMeant)
        let numbers = Set(removed.compactMap(\.command) + removed.compactMap(\.expiration))
        commands.removeAll { numbers.contains($0.command.number) }
        for wake in removed.map(\.wake) { finish(wake) }
        limitBackgroundRun(now)
        return removed.map(\.wake)
    }

    /// Records that a wake has ended. A newer wake of the same key may already have ended.
    mutating func finish(_ wake: WantedWake) {
        finished[wake.identity] = max(finished[wake.identity] ?? 0, wake.through)
        // The keys of pushes and responses are unique. The store can still return only the newest of these wakes.
        guard wake.source == .push || wake.source == .response else { return }
        let known = finished.filter { $0.key.source == wake.source }
        guard known.count > Self.mostFinished, let oldest = known.min(by: { $0.value < $1.value }) else { return }
        finished[oldest.key] = nil
    }

    private static let mostFinished = 256

    func isUnderWay(_ wake: WantedWake) -> Bool {
        begun.contains { $0.wake.identity == wake.identity && $0.wake.through == wake.through }
    }

    /// Drops waiting wakes. Wakes that have already ended keep their result.
    mutating func discard(_ wakes: [WantedWake], _ why: String) -> [AppAction] {
        let open = wakes.filter { isOpen($0) }
        for wake in open { finish(wake) }
        return drop(open, why)
    }
}

extension WantedWake {
    /// The name of the session for a session wake; the key for a wake from another source.
    var name: String { key.isEmpty ? source.rawValue : key }

    func isExpired(_ now: ClockReading) -> Bool { expires.map { $0 <= now.bootSeconds } ?? false }
}

extension WakeStatus {
    init(_ wake: WantedWake, deadline: Date?) {
        let key = wake.key.isEmpty ? nil : wake.key
        self.init(
            reason: wake.reason, session: wake.source == .session ? wake.key : nil,
            key: wake.source == .session ? nil : key, deadline: deadline)
    }
}
