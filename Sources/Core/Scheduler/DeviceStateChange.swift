package import NightshiftAPI

/// Decides how a change of the device state affects transfers. The decision is a pure function of the old and the new
/// state, and returns actions in order.
package enum DeviceStateChange {
    package enum Action: Hashable, Sendable {
        /// Connections are checked, because existing ones may be dead. New requests open new connections, and running
        /// transfers get a short time to show that their connections still work.
        case checkConnections
        /// Transfers that may not run in this state are interrupted. They keep their bytes.
        case stopForbidden
        /// The waits of transfers for a log-in to the network end.
        case endPortalWaits
        /// The change of the network is recorded in the journal. If `endsPauses` is true, the same transaction ends the
        /// pauses of transfers that failed for lack of a network, and clears the failures of hosts that could not be
        /// reached.
        case note(JournalEntry, endsPauses: Bool)
        /// Transfers that may run are started.
        case admit
    }

    package static func actions(from old: DeviceState, to new: DeviceState, now: ClockReading) -> [Action] {
        guard new != old else { return [] }
        let (before, after) = (old.conditions, new.conditions)
        let isOther = after.network.isOther(than: before.network)
        let woke = after.woke(since: before)
        var actions: [Action] = isOther || woke ? [.checkConnections] : []
        actions.append(.stopForbidden)
        if before.network.connectivity == .portal, after.network.connectivity != .portal {
            actions.append(.endPortalWaits)
        }
        if isOther, let entry = entry(before.network, after, now) {
            actions.append(.note(entry, endsPauses: after.network.isAvailable))
        }
        return actions + [.admit]
    }

    /// Returns the entry for a change of the network; nil if no network was available before, and none is available
    /// now.
    private static func entry(
        _ old: NetworkConditions, _ conditions: DeviceConditions, _ now: ClockReading
    ) -> JournalEntry? {
        let decision: Decision
        switch (old.isAvailable, conditions.network.isAvailable) {
        case (false, false): return nil
        case (true, false): decision = .networkLost
        case (false, true): decision = .networkReturned
        case (true, true): decision = .networkChanged
        }
        let keys: [DeviceKey] = [.network, .interface, .networkName, .expensive, .constrained]
        return JournalEntry(time: now.date, decision: decision, inputs: conditions.inputs(keys))
    }
}

extension NetworkConditions {
    /// Returns whether connections that were opened over `other` cannot be trusted on this network.
    fileprivate func isOther(than other: NetworkConditions) -> Bool {
        isAvailable != other.isAvailable || kind != other.kind || name != other.name
    }
}

extension DeviceConditions {
    /// Returns the values of the keys in the form used by the journal.
    func inputs(_ keys: [DeviceKey]) -> [String: String] {
        keys.reduce(into: [:]) { $0[$1.rawValue] = self[$1] }
    }
}
