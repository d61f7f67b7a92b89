import Apps
import Foundation
import NightshiftAPI
import Store
import Testing

/// Reasons of every source to wake the app in the walk, and what the machine may make of them.
extension AppWalk {
    // MARK: - What happens

    /// A session has something new, or another part writes a row.
    mutating func newWake() {
        let source = Bool.random(using: &random) ? WakeSource.session : .allCases.randomElement(using: &random) ?? .push
        let keys =
            switch source {
            case .session: ["a", "b", "c"]
            case .region: ["home", "work"]
            case .processing: ["clean", "train"]
            case .continued: ["export"]
            case .fetch, .push, .significantChange: [""]
            }
        var wake = WantedWake(
            app: TestApp.id, reason: WakeReason(source), key: keys.randomElement(using: &random) ?? "",
            through: nextWake)
        if source != .session {
            wake.payload = Self.payload(nextWake)
            if Bool.random(using: &random) {
                wake.expires = now.wallSeconds + Double.random(in: 0..<60, using: &random)
            }
        }
        nextWake += 1
        rows[wake.identity] = wake
        updateWantedWakes()
    }

    /// As the store would tell.
    var wanted: [WantedWake] {
        rows.values.filter { $0.through > woken[$0.identity] ?? 0 }.sorted { $0.through < $1.through }
    }

    mutating func updateWantedWakes() {
        let wanted = wanted
        feed("wanted \(wanted.map { "\($0.source) \($0.key):\($0.through)" })") { $0.setWantedWakes(wanted, now: $1) }
    }

    private static func payload(_ number: Int64) -> Data { Data("\(number)".utf8) }

    // MARK: - What the machine may do

    /// Something that the app is to hear of, and neither has had nor works on.
    func news(_ begun: [WantedWake.Identity: Int64]) -> WantedWake? {
        rows.values.first { wake in
            wake.through > max(woken[wake.identity] ?? 0, begun[wake.identity] ?? 0) && !isExpired(wake)
                && isDeclared(wake.source)
        }
    }

    private func isExpired(_ wake: WantedWake) -> Bool { wake.expires.map { $0 <= now.wallSeconds } ?? false }

    private func isDeclared(_ source: WakeSource) -> Bool { source.rules.mode.map(modes.contains) ?? true }

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
        let source = identity.source
        if !isDeclared(source) { fail("It is told of \(source), which its entry does not declare.") }
        if over.contains(through) { fail("It is told of \(source) \(through), which is over.") }
        if command.payload != (source == .session ? nil : Self.payload(through)) {
            fail("It is told \(command.payload ?? Data()) of \(source) \(through).")
        }
        guard let limit = command.limit else {
            if !isUnhurried { fail("It is told of \(source) in the background without a limit.") }
            return
        }
        if isUnhurried { fail("It is told of \(source) in front of its user with a limit.") }
        // A deadline less the moment is not exact.
        if limit > source.limit(declared: machine.wakeLimit) + 1e-6 { fail("It has \(limit) s for \(source).") }
    }

    mutating func checkKill() {
        let late = Set(WakeSource.allCases.map(\.rules.overdue))
        guard isUnhurried, let cause = machine.record.processState?.ending?.cause, late.contains(cause) else { return }
        fail("It is ended for \(cause), and may take its time.")
    }

    mutating func checkEnd(of wake: WantedWake, _ outcome: WakeOutcome) {
        let (rules, identity) = (wake.source.rules, wake.identity)
        if !over.insert(wake.through).inserted { fail("The wake \(wake) is finished twice.") }
        woken[identity] = max(woken[identity] ?? 0, wake.through)
        switch outcome {
        case .acknowledged:
            guard acknowledging?.wake != identity || acknowledging?.through != wake.through else { return }
            fail("\(wake) is completed, and the app has not said so.")
        case .exited:
            if process != nil || lastEnded?.links == true { fail("No exit has completed \(wake).") }
        case .dropped:
            let isEnded = machine.record.isForceQuit && !rules.outlivesForceQuit
            let isLost = process == nil && !rules.isTriedAgain
            if !isExpired(wake), !isEnded, !isLost { fail("\(wake) is given up for no reason.") }
            if process?.wakes[identity] == wake.through { process?.wakes[identity] = nil }
        }
    }

    /// In front of its user it hears at once of what is not a session's.
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
    /// What it asks the app to handle.
    var wake: WantedWake.Identity? {
        switch action {
        case .handleEvents: session.map { WantedWake.Identity(source: .session, key: $0) }
        case .handleWake: source.map { WantedWake.Identity(source: $0, key: key ?? "") }
        case .enter, .snapshot, .expire, .terminate: nil
        }
    }
}
