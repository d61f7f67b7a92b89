package import NightshiftAPI
import Store

/// The pause of background work while the device dozes.
extension AppMachine {
    /// Applies a new phase of doze: the device dozes, a maintenance window opens, or doze ends.
    package mutating func apply(_ phase: DozePhase, now: ClockReading) -> [AppAction] {
        guard phase != device else { return [] }
        device = phase
        guard phase != .dozing else { return suspendIfIdle(now) }
        if phase == .window { record.background.openRun?.run.windows += 1 }
        return self.phase == .standing ? leaveStandstill(now) + suspendIfIdle(now) : []
    }

    /// Applies the current terms of the app's background time, which may have changed.
    package mutating func termsChanged(now: ClockReading) -> [AppAction] {
        noteHold(now)
        if phase == .standing, !mayStand { return leaveStandstill(now) + suspendIfIdle(now) }
        return suspendIfIdle(now)
    }

    var isFrozen: Bool { phase == .frozen || phase == .standing }

    /// Whether doze may freeze the app. An app that has got the expiration warning may use the rest of its time.
    private var mayStand: Bool {
        device == .dozing && terms.policy.kind == .opportunistic && record.background.openRun?.isExpiring != true
    }

    /// Freezes the app during doze, with its background tasks open.
    mutating func standStill(_ now: ClockReading) -> [AppAction] {
        // Tasks that a broken connection left open are dropped first.
        guard mayStand, confirmBy == nil else { return [] }
        phase = .standing
        setCounting(false, now)
        // The background time stops before the app is frozen. If freezing then fails, the background time continues.
        return [.note(.backgroundTimeStopped, nil, inputs: ["left": Self.text(remaining(now) ?? 0)]), .freeze]
    }

    /// Thaws an app that doze has frozen.
    mutating func leaveStandstill(_ now: ClockReading) -> [AppAction] {
        phase = .present
        setCounting(true, now)
        expectConfirmation(now)
        return [.thaw, .note(.backgroundTimeResumed, nil, inputs: ["left": Self.text(remaining(now) ?? 0)])]
    }

    /// Handles the locks that were found just before freezing the app. They are on files that other processes also have
    /// open.
    package mutating func found(_ locks: [HeldLock], now: ClockReading) -> [AppAction] {
        guard isFrozen, !locks.isEmpty else { return [] }
        var actions: [AppAction] = []
        if !hasToldLocks {
            hasToldLocks = true
            actions = locks.map {
                .note(
                    .appHoldsLock, $0.path,
                    inputs: ["kind": $0.kind, "process": "\($0.process)", "policy": terms.fileLocks.rawValue])
            }
        }
        return terms.fileLocks == .terminate ? actions + end(.fileLock) : actions
    }
}
