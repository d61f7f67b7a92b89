package import Foundation
package import NightshiftAPI
import Store

/// Inputs from people and from the app itself.
extension AppMachine {
    /// Launches the app, or brings a running app to the foreground.
    package mutating func launch(background: Bool, arguments: [String], now: ClockReading) -> [AppAction] {
        if phase != .absent { return background ? [] : bringToFront(now: now) }
        let cleared = background ? [] : clearFaults()
        phase = .starting
        enter(background ? .background : .inactive, now)
        return cleared + [.spawn(background: background, wakes: background ? [] : choices(now), arguments: arguments)]
    }

    /// Brings the app to the foreground, and launches it if it is not running.
    package mutating func bringToFront(now: ClockReading) -> [AppAction] {
        guard phase != .absent else { return launch(background: false, arguments: [], now: now) }
        var actions = clearFaults()
        guard phase != .starting, record.state != .active, ending == nil else { return actions }
        actions += endFetchesInFront(now)
        actions += endBackgroundRun(.foreground, now)
        if isFrozen {
            phase = .present
            actions.append(.thaw)
            expectConfirmation(now)
        }
        // An app in the foreground has no time limit. Wakes that were called off keep their deadline.
        for index in begun.indices where !begun[index].isCalledOff { begun[index].deadline = nil }
        commands.removeAll { $0.command.action == .expire }
        connectBy = nil
        if record.state != .inactive { actions += transition(to: .inactive, now) }
        return actions + transition(to: .active, now) + suspendIfIdle(now)
    }

    /// Handles the installation or replacement of the app's desktop entry.
    package mutating func installed(_ entry: String, now: ClockReading) -> [AppAction] {
        // The new entry may start another program.
        if phase == .absent { record.linksLibrary = false }
        return [.note(.appInstalled, entry)] + termsChanged(now: now)
    }

    /// Sends the app to the background.
    package mutating func sendToBackground(now: ClockReading) -> [AppAction] {
        guard phase == .present, record.state == .active || record.state == .inactive, ending == nil else { return [] }
        var actions = dropChoices()
        let limit = isManaged ? Self.backgroundLimit : nil
        // Commands that were sent in the foreground have no deadline, and would keep the app awake in the background.
        for index in commands.indices where commands[index].command.action == .enter {
            commands[index].deadline = limit.map { now.awakeSeconds + $0 }
        }
        if record.state == .active { actions += transition(to: .inactive, limit: limit, now) }
        actions += transition(to: .background, limit: limit, now)
        if isManaged { limitWakes(now) }
        needsSnapshot = true
        // A process that was launched a short time ago may still be about to connect.
        if !hasConnected, let limit = launchedAt.map({ $0 + Self.connectLimit }), limit > now.awakeSeconds {
            connectBy = limit
        }
        // The commands above have shorter deadlines than the launch.
        if isConnected { launchBy = nil }
        return actions + beginBackgroundRun(now) + suspendIfIdle(now)
    }

    /// Handles the app's report that it came to the foreground or left it. From now on the app's own reports decide its
    /// state, not those of the desktop.
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

    /// Returns the command that asks an app in the foreground how to present its notification.
    ///
    /// The command is not added to the pending commands. So it does not keep the app awake, and is not sent again.
    ///
    /// - Returns: nil if the app is not in the foreground or is not connected.
    package mutating func present(_ identifier: String, _ notification: Data) -> ProcessCommand? {
        guard record.isInFront, isConnected, ending == nil else { return nil }
        var command = newCommand(.present)
        command.key = identifier
        command.payload = notification
        command.limit = Self.presentationLimit
        return command
    }

    /// Ends the app. A suspended app ends at once; any other app first gets time to finish.
    ///
    /// - Parameter force: whether this is the user's force quit.
    package mutating func quit(force: Bool, now: ClockReading) -> [AppAction] {
        var actions: [AppAction] = []
        if force {
            record.isForceQuit = true
            actions = dropOutdated(now)
        }
        // The transfers are cancelled after the process has ended. The app's next process, which the user launches,
        // handles their messages.
        guard phase != .absent else { return force ? actions + [.cancelTransfers] : [] }
        let cause: ExitCause = force ? .forceQuit : .quit
        if phase == .standing { actions += leaveStandstill(now) }
        guard phase == .present, record.process != nil else {
            ending = RequestedEnd(cause: cause, deadline: nil)
            // A suspended app is killed without notice, as on iOS.
            return actions + [.kill]
        }
        ending = RequestedEnd(cause: cause, deadline: now.awakeSeconds + Self.quitLimit)
        return actions + (isConnected ? send(.terminate, to: nil, limit: nil, now) : [.terminate])
    }

    /// Ends the app with SIGKILL, as a crash would.
    package mutating func kill() -> [AppAction] {
        guard phase != .absent else { return [] }
        ending = RequestedEnd(cause: .killed, deadline: nil)
        return [.kill]
    }

    /// Clears the fault count, the force quit and the start delays, because the user has opened the app.
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
