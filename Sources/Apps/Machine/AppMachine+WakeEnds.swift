import Foundation
import NightshiftAPI
import Store

/// How wakes end: completed, too late, or given up.
extension AppMachine {
    /// Awake seconds until which a wake has to be completed whose time begins now; nil where it may take as long as it likes.
    ///
    /// The time that a source gives begins when the app hears of the wake (``startDeadline(ofWake:_:)``). Until then it has
    /// as long as a launch may take in addition. A session's includes that, and so does that of a program that never hears
    /// of it. An app that was told that a wake's time is nearly over has no more than what that leaves it.
    func deadline(of wake: BegunWake, _ now: ClockReading) -> Double? {
        let source = wake.wake.source
        let isHeardLater = source.rules.limit != .declared && !isConnected && !completesByExiting
        let seconds = wake.expiration == nil ? source.limit(declared: wakeLimit) : lead(of: source)
        // Nothing may run for ever for what it has never heard of.
        guard let seconds = seconds ?? (isHeardLater && wake.command == nil ? 0 : nil) else { return nil }
        return now.awakeSeconds + seconds + (isHeardLater ? Self.launchLimit : 0)
    }

    /// The time of every wake under way begins now.
    mutating func limitWakes(_ now: ClockReading) {
        for index in begun.indices { begun[index].deadline = deadline(of: begun[index], now) }
    }

    /// The app hears of a wake now. A session's time goes on, unless it was over and the launch had more for another source.
    mutating func startDeadline(ofWake index: Int, _ now: ClockReading) {
        let rules = begun[index].wake.source.rules
        guard let end = begun[index].deadline, rules.limit != .declared || end <= now.awakeSeconds else { return }
        begun[index].deadline = deadline(of: begun[index], now)
    }

    /// Whether its exit status says that it has done what it was launched for: it does not link the library, as far as is
    /// known, or what wakes start is a program of its own.
    var completesByExiting: Bool { !hasConnected && (hasWakeCommand || !record.linksLibrary) }

    /// Awake seconds at which it has taken too long over what it was woken for, and why it is ended then.
    ///
    /// A program that completes everything with one exit status has the time of the longest wake.
    var overdueWake: (deadline: Double, cause: ExitCause)? {
        let limited = begun.compactMap { wake in
            wake.deadline.flatMap { end in wake.wake.source.rules.overdue.map { (deadline: end, cause: $0) } }
        }
        guard completesByExiting else { return limited.min { $0.deadline < $1.deadline } }
        return isUnlimited ? nil : limited.max { $0.deadline < $1.deadline }
    }

    /// Whether something is under way that may take as long as it likes.
    var isUnlimited: Bool { begun.contains { $0.wake.source.rules.limit == .unlimited } }

    /// The app is done with wakes that were under way.
    mutating func complete(
        _ outcome: WakeOutcome, _ now: ClockReading, where isMeant: (BegunWake) -> Bool = { _ in true }
    ) -> [AppAction] {
        removeBegun(now, where: isMeant).flatMap { wake -> [AppAction] in
            var inputs: [String: String] = [:]
            if wake.source.hasResult { inputs["result"] = outcome.result?.rawValue }
            return [.finishWake(wake, outcome), .note(.appWakeCompleted, wake.name, inputs: inputs)]
        }
    }

    /// Gives up what is wanted for too long, what does not outlive a force quit, and chances that cannot be had.
    mutating func dropOutdated(_ now: ClockReading) -> [AppAction] {
        sleptSeconds = now.bootSeconds - now.awakeSeconds
        var actions: [AppAction] = []
        if record.isForceQuit { actions = dropBegun(Self.forceQuitReason, now) { !$0.outlivesForceQuit } }
        for wake in wanted where isOpen(wake) && !isUnderWay(wake) {
            if let why = reasonToDrop(wake, now) { actions += discard([wake], why) }
        }
        return actions
    }

    /// Why a wake that waits is given up; nil where it goes on waiting.
    private func reasonToDrop(_ wake: WantedWake, _ now: ClockReading) -> String? {
        let rules = wake.source.rules
        if record.isForceQuit, !rules.outlivesForceQuit { return Self.forceQuitReason }
        if wake.isExpired(now) { return "Its time is over." }
        // Others wait until that changes. Of these somebody waits for the end.
        guard wake.source.hasResult else { return nil }
        if let mode = rules.mode, !modes.contains(mode) {
            return "The app's entry does not declare the background mode '\(mode.rawValue)'."
        }
        return phase == .absent && !isInstalled ? "The app has no desktop entry." : nil
    }

    private static let forceQuitReason = "Its user force-quit the app."

    /// Awake seconds at which a wake that waits is given up for whose end somebody waits. Others go at the next look.
    var nextExpiry: Double? {
        let waiting = wanted.filter { $0.source.hasResult && isOpen($0) && !isUnderWay($0) }
        // Later by more than rounding, so that it is over then.
        return waiting.compactMap(\.expires).min().map { $0 - sleptSeconds + 0.001 }
    }

    /// Gives up the chances that a process had and has not used.
    mutating func dropLost(_ why: String, _ now: ClockReading) -> [AppAction] {
        dropBegun(why, now) { !$0.isTriedAgain }
    }

    /// Ends the chances that a process had whose end nobody saw: it may have used them.
    mutating func endUnseen(_ why: String, _ now: ClockReading) -> [AppAction] {
        endUnseen(removeBegun(now) { !$0.wake.source.rules.isTriedAgain }, why)
    }

    private func endUnseen(_ wakes: [WantedWake], _ why: String) -> [AppAction] {
        wakes.flatMap { [.finishWake($0, .unseen(why)), .note(.appWakeDropped, "\($0.name): \(why)")] }
    }

    /// Ends the fetches of an app that came to the foreground, without a result: it fetches by itself there, and without a limit. They
    /// would stay under way for as long as the app is in front.
    mutating func endFetchesInFront(_ now: ClockReading) -> [AppAction] {
        let why = "Its app came to the front of its user."
        let waiting = wanted.filter { $0.source == .fetch && isOpen($0) && !isUnderWay($0) }
        for wake in waiting { finish(wake) }
        return endUnseen(removeBegun(now) { $0.wake.source == .fetch } + waiting, why)
    }

    /// A program that does not link the library has ended on its own, and nobody saw with what status: it had its news, which
    /// is not told twice.
    mutating func dropHeard(_ now: ClockReading) -> [AppAction] {
        guard completesByExiting else { return [] }
        let heard = removeBegun(now) { $0.wake.source.handover == .payloads }
        return endUnseen(heard, "Its program has ended, and nobody saw with what status.")
    }

    private mutating func dropBegun(
        _ why: String, _ now: ClockReading, where isMeant: (WakeRules) -> Bool
    ) -> [AppAction] {
        drop(removeBegun(now) { isMeant($0.wake.source.rules) }, why)
    }

    /// Gives up wakes that were under way.
    func drop(_ wakes: [WantedWake], _ why: String) -> [AppAction] {
        wakes.flatMap { [.finishWake($0, .dropped(why)), .note(.appWakeDropped, "\($0.name): \(why)")] }
    }

    /// Takes wakes from those under way. What the app was asked about them needs no answer any more.
    mutating func removeBegun(_ now: ClockReading, where isMeant: (BegunWake) -> Bool) -> [WantedWake] {
        let removed = begun.filter(isMeant)
        guard !removed.isEmpty else { return [] }
        begun.removeAll(where: isMeant)
        let numbers = Set(removed.compactMap(\.command) + removed.compactMap(\.expiration))
        commands.removeAll { numbers.contains($0.command.number) }
        for wake in removed.map(\.wake) { finish(wake) }
        limitStint(now)
        return removed.map(\.wake)
    }

    /// A later wake of the same key may have been given up before this one.
    mutating func finish(_ wake: WantedWake) {
        finished[wake.identity] = max(finished[wake.identity] ?? 0, wake.through)
        // Keys of pushes and of answers do not come again. What the store may still tell is among the last of them.
        guard wake.source == .push || wake.source == .response else { return }
        let known = finished.filter { $0.key.source == wake.source }
        guard known.count > Self.mostFinished, let oldest = known.min(by: { $0.value < $1.value }) else { return }
        finished[oldest.key] = nil
    }

    private static let mostFinished = 256

    func isUnderWay(_ wake: WantedWake) -> Bool {
        begun.contains { $0.wake.identity == wake.identity && $0.wake.through == wake.through }
    }

    /// Gives up wakes that wait. Those that have ended already are left as they are.
    mutating func discard(_ wakes: [WantedWake], _ why: String) -> [AppAction] {
        let open = wakes.filter { isOpen($0) }
        for wake in open { finish(wake) }
        return drop(open, why)
    }
}

extension WantedWake {
    /// The session, or what of another source it is about.
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
