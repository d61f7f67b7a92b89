package import NightshiftAPI
import Store

/// Background work stands still while the device dozes.
extension AppMachine {
    /// The device dozes, a window opens, or everything runs.
    package mutating func apply(_ phase: DozePhase, now: ClockReading) -> [AppAction] {
        guard phase != device else { return [] }
        device = phase
        guard phase != .dozing else { return suspendIfIdle(now) }
        if phase == .window { record.background.stint?.stint.windows += 1 }
        return self.phase == .standing ? leaveStandstill(now) + suspendIfIdle(now) : []
    }

    /// Its terms may have changed.
    package mutating func termsChanged(now: ClockReading) -> [AppAction] {
        noteHold(now)
        if phase == .standing, !mayStand { return leaveStandstill(now) + suspendIfIdle(now) }
        return suspendIfIdle(now)
    }

    var isFrozen: Bool { phase == .frozen || phase == .standing }

    /// Whether doze keeps it from running. An app that was told that its time is nearly over may use the rest of it.
    private var mayStand: Bool {
        device == .dozing && terms.policy.kind == .opportunistic && record.background.stint?.isExpiring != true
    }

    /// Freezes it where it stands, in the middle of its tasks.
    mutating func standStill(_ now: ClockReading) -> [AppAction] {
        // Tasks that a broken connection left open are cleared up first.
        guard mayStand, confirmBy == nil else { return [] }
        phase = .standing
        setCounting(false, now)
        // In this order: where it cannot be frozen, its time goes on.
        return [.note(.backgroundTimeStopped, nil, inputs: ["left": Self.text(remaining(now) ?? 0)]), .freeze]
    }

    /// Lets it run on.
    mutating func leaveStandstill(_ now: ClockReading) -> [AppAction] {
        phase = .present
        setCounting(true, now)
        expectConfirmation(now)
        return [.thaw, .note(.backgroundTimeResumed, nil, inputs: ["left": Self.text(remaining(now) ?? 0)])]
    }

    /// Locks were found on files that others use, just before it is frozen.
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
