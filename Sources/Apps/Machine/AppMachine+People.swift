package import Foundation
package import NightshiftAPI
import Store

/// Inputs from people and from the app itself.
extension AppMachine {
    /// Starts it, or brings it to the front where it runs.
    package mutating func launch(background: Bool, arguments: [String], now: ClockReading) -> [AppAction] {
        if phase != .absent { return background ? [] : bringToFront(now: now) }
        let cleared = background ? [] : clearFaults()
        phase = .starting
        enter(background ? .background : .inactive, now)
        return cleared + [.spawn(background: background, wakes: background ? [] : choices(now), arguments: arguments)]
    }

    /// Brings it before its user.
    package mutating func bringToFront(now: ClockReading) -> [AppAction] {
        guard phase != .absent else { return launch(background: false, arguments: [], now: now) }
        var actions = clearFaults()
        guard phase != .starting, record.state != .active, ending == nil else { return actions }
        actions += endFetchesInFront(now)
        actions += endStint(.foreground, now)
        if isFrozen {
            phase = .present
            actions.append(.thaw)
            expectConfirmation(now)
        }
        // An app in front of its user has no time limit. What was called off ends all the same.
        for index in begun.indices where !begun[index].isCalledOff { begun[index].deadline = nil }
        commands.removeAll { $0.command.action == .expire }
        connectBy = nil
        if record.state != .inactive { actions += transition(to: .inactive, now) }
        return actions + transition(to: .active, now) + suspendIfIdle(now)
    }

    /// Its entry was installed, for the first time or anew.
    package mutating func installed(_ entry: String, now: ClockReading) -> [AppAction] {
        // Another program may stand behind it.
        if phase == .absent { record.linksLibrary = false }
        return [.note(.appInstalled, entry)] + termsChanged(now: now)
    }

    /// Takes it away from its user.
    package mutating func sendToBackground(now: ClockReading) -> [AppAction] {
        guard phase == .present, record.state == .active || record.state == .inactive, ending == nil else { return [] }
        var actions = dropChoices()
        let limit = isManaged ? Self.backgroundLimit : nil
        // Commands that were sent in the foreground have no limit; from here on they would keep the app awake.
        for index in commands.indices where commands[index].command.action == .enter {
            commands[index].deadline = limit.map { now.awakeSeconds + $0 }
        }
        if record.state == .active { actions += transition(to: .inactive, limit: limit, now) }
        actions += transition(to: .background, limit: limit, now)
        if isManaged { limitWakes(now) }
        needsSnapshot = true
        // One that has only just been launched may still be on its way to connecting.
        if !hasConnected, let limit = launchedAt.map({ $0 + Self.connectLimit }), limit > now.awakeSeconds {
            connectBy = limit
        }
        // Its commands have a shorter limit from here on.
        if isConnected { launchBy = nil }
        return actions + beginStint(now) + suspendIfIdle(now)
    }

    /// The app says that it came to the front or left it: from here on its word counts, not the desktop's.
    package mutating func changed(to state: AppState, now: ClockReading) -> [AppAction] {
        if record.process != nil { windows.areToldByApp = true }
        switch state {
        case .active: return bringToFront(now: now)
        case .background: return sendToBackground(now: now)
        case .inactive:
            guard phase == .present, record.state == .active else { return [] }
            return transition(to: .inactive, now)
        case .notRunning, .suspended: return []
        }
    }

    /// A notification of the app is about to be shown: in front of its user the app is asked what of it is.
    ///
    /// The question is not kept: it does not keep the app awake, and is not asked again.
    ///
    /// - Returns: nil where the app is not in front, or cannot be asked.
    package mutating func present(_ identifier: String, _ notification: Data) -> ProcessCommand? {
        guard record.isInFront, isConnected, ending == nil else { return nil }
        var command = newCommand(.present)
        command.key = identifier
        command.payload = notification
        command.limit = Self.presentationLimit
        return command
    }

    /// Ends it: at once where it is suspended, else after it has had its say.
    ///
    /// - Parameter force: the user's force quit.
    package mutating func quit(force: Bool, now: ClockReading) -> [AppAction] {
        var actions: [AppAction] = []
        if force {
            record.isForceQuit = true
            actions = dropOutdated(now)
        }
        // Its transfers end behind its process: what they come to is for the next one, which the user launches.
        guard phase != .absent else { return force ? actions + [.cancelTransfers] : [] }
        let cause: ExitCause = force ? .forceQuit : .quit
        if phase == .standing { actions += leaveStandstill(now) }
        guard phase == .present, record.process != nil else {
            ending = RequestedEnd(cause: cause, deadline: nil)
            // As on iOS: a suspended app is not told.
            return actions + [.kill]
        }
        ending = RequestedEnd(cause: cause, deadline: now.awakeSeconds + Self.quitLimit)
        return actions + (isConnected ? send(.terminate, to: nil, limit: nil, now) : [.terminate])
    }

    /// Ends it as a crash would.
    package mutating func kill() -> [AppAction] {
        guard phase != .absent else { return [] }
        ending = RequestedEnd(cause: .killed, deadline: nil)
        return [.kill]
    }

    /// The user is there: what was held against the app is forgotten.
    mutating func clearFaults() -> [AppAction] {
        let wasInFront = record.state == .active || record.state == .inactive
        let mayStart = !wasInFront || record.startDelay > 0
        record.isForceQuit = false
        record.faults = 0
        hasToldPause = false
        record.startDelay = 0
        return mayStart ? [.cameToFront] : []
    }
}
