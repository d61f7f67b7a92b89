import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Wakes of every source in the walk, and the rules for the machine.
extension AppWalk {
    // MARK: - Inputs

    /// Adds a message of a session, or a row of another feature.
    mutating func newWake() {
        let source = Bool.random(using: &random) ? WakeSource.session : .allCases.randomElement(using: &random) ?? .push
        let keys =
            switch source {
            case .session: ["a", "b", "c"]
            case .region: ["home", "work"]
            case .processing: ["clean", "train"]
            case .continued: ["export"]
            case .fetch, .push, .significantChange: [""]
            case .response: ["note", "other"]
            }
        var wake = WantedWake(
            app: TestApp.id, reason: WakeReason(source), key: keys.randomElement(using: &random) ?? "",
            through: nextWake)
        if source != .session {
            wake.payload = Self.payload(source, nextWake)
            if Bool.random(using: &random) {
                wake.expires = now.bootSeconds + Double.random(in: 0..<60, using: &random)
            }
        }
        nextWake += 1
        rows[wake.identity] = wake
        updateWantedWakes()
    }

    /// Calls off a wake at random, as when the user cancels a task or returns.
    mutating func callOff() {
        let rows = rows.values.filter(\.source.rules.isWarned).sorted { $0.through < $1.through }
        guard let wake = rows.randomElement(using: &random) else { return }
        let identity = wake.identity
        let meant = begun.first { $0.wake.identity == identity }?.wake
        guard meant != nil || wake.through > woken[identity] ?? 0 else {
            return feed("call off what is over") { $0.expireWake(wake.source, key: wake.key, now: $1) ?? [] }
        }
        calledOff.insert((meant ?? wake).through)
        feed("call off \(wake.source) \(wake.key)") { machine, now in
            guard let actions = machine.expireWake(wake.source, key: wake.key, now: now) else {
                Issue.record("\(wake) is under way or wanted, and unknown.")
                return []
            }
            return actions
        }
        guard let process, process.isConnected, !process.isWarned, !process.isAskedToEnd, let meant else { return }
        if !warned.contains(meant.through) { fail("\(meant) is called off, and the app was not told.") }
    }

    /// The wanted wakes, as the store would return them.
    var wanted: [WantedWake] {
        rows.values.filter { $0.through > woken[$0.identity] ?? 0 }.sorted { $0.through < $1.through }
    }

    mutating func updateWantedWakes() {
        let wanted = wanted
        feed("wanted \(wanted.map { "\($0.source) \($0.key):\($0.through)" })") { $0.setWantedWakes(wanted, now: $1) }
    }

    /// Returns a payload. Every second response brings the app to the foreground.
    private static func payload(_ source: WakeSource, _ number: Int64) -> Data? {
        guard source == .response, number.isMultiple(of: 2) else { return Data("\(number)".utf8) }
        let notification = AppNotification(identifier: "\(number)", date: Date(timeIntervalSince1970: 1_800_000_000))
        return try? JSON.encode(NotificationResponse(notification: notification, action: NotificationResponse.opened))
    }

    func isForFront(_ wake: WantedWake) -> Bool { wake.source == .response && wake.through.isMultiple(of: 2) }

    // MARK: - Rules

    /// Returns a wake with a payload that the app should receive but has neither received nor started to handle.
    func news(_ begun: [WantedWake.Identity: Int64]) -> WantedWake? {
        rows.values.first { wake in
            // A wake that brings the app to the foreground waits until the app is there.
            wake.through > max(woken[wake.identity] ?? 0, begun[wake.identity] ?? 0) && !isExpired(wake)
                && isDeclared(wake.source) && !isForFront(wake)
        }
    }

    private func isExpired(_ wake: WantedWake) -> Bool { wake.expires.map { $0 <= now.bootSeconds } ?? false }

    /// Whether only the newest wake of the source counts.
    private func isNews(_ source: WakeSource) -> Bool {
        [.push, .region, .significantChange, .response].contains(source)
    }

    private func isDeclared(_ source: WakeSource) -> Bool { source.rules.mode.map(modes.contains) ?? true }

    private var begun: [BegunWake] { machine.record.processState?.begun ?? [] }

    /// Whether a continued task is under way.
    var isContinuing: Bool { begun.contains { $0.wake.source == .continued } }

    private var isUnhurried: Bool {
        process?.isManaged == false || machine.record.state == .active || machine.record.state == .inactive
    }

    mutating func checkLaunch(for wake: WantedWake) {
        if !isDeclared(wake.source) { fail("It is launched for \(wake.source), which its entry does not declare.") }
        if isExpired(wake) { fail("It is launched for \(wake), whose time is over.") }
        if over.contains(wake.through) { fail("It is launched for \(wake), which is over.") }
    }

    mutating func checkTelling(_ command: ProcessCommand) {
        guard let identity = command.wake, let through = command.through else { return }
        told.insert(through)
        let source = identity.source
        if !isDeclared(source) { fail("The app gets \(source), which its entry does not declare.") }
        if over.contains(through) { fail("The app gets \(source) \(through), which has ended.") }
        if isNews(source), let newer = rows[identity], newer.through > through, newer.through > woken[identity] ?? 0,
            !isExpired(newer), process?.isAskedToEnd != true
        {
            fail("The app gets \(source) \(through), and not the newer \(newer.through).")
        }
        if command.payload != (source == .session ? nil : Self.payload(source, through)) {
            fail("The app gets \(command.payload ?? Data()) for \(source) \(through).")
        }
        guard let limit = command.limit else {
            if !isUnhurried, source != .continued { fail("The app gets \(source) in the background without a limit.") }
            return
        }
        // A wake that was called off has a limit in any state.
        if isUnhurried, source != .continued { fail("The app gets \(source) in the foreground with a limit.") }
        // A deadline minus the current time is not exact.
        let most = source.limit(declared: machine.wakeLimit) ?? lead
        if limit > most + 1e-6 { fail("It has \(limit) s for \(source).") }
    }

    /// Checks an expiration warning: it is sent once, for a wake that is under way.
    mutating func checkWarning(_ command: ProcessCommand) {
        guard command.action == .expireWake, let through = command.through else { return }
        if !warned.insert(through).inserted { fail("The app is warned twice of \(through).") }
        if !told.contains(through) { fail("The app is warned of \(through), which it has not received.") }
        if over.contains(through) { fail("The app is warned of \(through), which has ended.") }
    }

    /// Checks that every wake with a result stays under way until it ends, and is not under way after that.
    mutating func checkUnderWay() {
        let now = Set(begun.filter(\.wake.source.rules.hasResult).map(\.wake.through))
        if let lost = underWay.subtracting(now).first(where: { !over.contains($0) }) {
            fail("\(lost) was under way, and has not ended.")
        }
        if let again = now.first(where: over.contains) { fail("\(again) is under way, and has ended.") }
        underWay = now
    }

    mutating func checkKill() {
        let late = Set(WakeSource.allCases.compactMap(\.rules.overdue))
        guard isUnhurried, let cause = machine.record.processState?.ending?.cause, late.contains(cause) else { return }
        fail("It is ended for \(cause), and may take its time.")
    }

    mutating func checkEnd(of wake: WantedWake, _ outcome: WakeOutcome) {
        let (rules, identity) = (wake.source.rules, wake.identity)
        if !over.insert(wake.through).inserted { fail("The wake \(wake) is finished twice.") }
        woken[identity] = max(woken[identity] ?? 0, wake.through)
        // The app has its full background time again.
        if wake.source == .continued, underWay.contains(wake.through), hasBackgroundRun, process?.isManaged == true {
            budget = Budget(left: terms.policy.seconds, from: now.awakeSeconds)
        }
        switch outcome {
        case .acknowledged(let said):
            if wake.source.rules.hasResult, said != result { fail("\(wake) has come to \(said), not \(result).") }
            guard acknowledging?.wake != identity || acknowledging?.through != wake.through else { return }
            fail("\(wake) is completed, and the app has not said so.")
        case .exited(let status):
            if status != lastStatus ?? 0 { fail("It has exited with \(lastStatus ?? 0), not \(status).") }
            if status != 0, !wake.source.rules.hasResult { fail("A failure has completed \(wake).") }
            if process != nil || lastEnded?.links == true { fail("No exit has completed \(wake).") }
        case .unseen:
            // An app in the foreground fetches itself. Otherwise the status of its process is unknown.
            let isFetchInFront = wake.source == .fetch && isUnhurried
            let isLost = process == nil && (!rules.isTriedAgain || isNews(wake.source))
            if !isFetchInFront, !isLost { fail("\(wake) has no result, and its end was seen.") }
            if process?.wakes[identity] == wake.through { process?.wakes[identity] = nil }
        case .dropped:
            let isEnded = machine.record.isForceQuit && !rules.outlivesForceQuit
            let isLost = process == nil && !rules.isTriedAgain
            let cannotBegin =
                wake.source.rules.hasResult && (!isDeclared(wake.source) || process == nil && !machine.isInstalled)
            let isUnheard = wake.source == .continued && !told.contains(wake.through)
            let isKnown = process?.commands.contains { $0.wake == identity && $0.through == wake.through } ?? false
            let isReplaced = isNews(wake.source) && !isKnown && rows[identity]?.through ?? 0 > wake.through
            // The app was in the foreground and could not receive wakes there.
            let isMute = isForFront(wake) && (process ?? lastEnded)?.links == false
            // As far as the service knows, the app received the wake at its launch.
            let isHeard = hasEndedUnseen && process == nil && isNews(wake.source) && !machine.record.linksLibrary
            if !isExpired(wake), !isEnded, !isLost, !cannotBegin, !calledOff.contains(wake.through), !isUnheard,
                !isReplaced, !isMute, !isHeard
            {
                fail("\(wake) is given up for no reason.")
            }
            if process?.wakes[identity] == wake.through { process?.wakes[identity] = nil }
        }
    }

    /// Checks that an app in the foreground receives every wake at once, except for sessions.
    mutating func checkTold(_ process: Process, _ state: AppState) {
        guard isUnhurried, process.isConnected, !process.isAskedToEnd, !machine.record.isForceQuit else { return }
        let untold = rows.values.first { wake in
            wake.source.rules.reachesForeground && isDeclared(wake.source) && !isExpired(wake)
                && wake.through > woken[wake.identity] ?? 0 && process.wakes[wake.identity] == nil
        }
        if let untold { fail("It is \(state), and not told of \(untold).") }
    }
}

extension ProcessCommand {
    /// The wake that the command asks the app to handle.
    var wake: WantedWake.Identity? {
        switch action {
        case .handleEvents: session.map { WantedWake.Identity(source: .session, key: $0) }
        case .handleWake: source.map { WantedWake.Identity(source: $0, key: key ?? "") }
        case .enter, .snapshot, .expire, .expireWake, .present, .terminate: nil
        }
    }
}
