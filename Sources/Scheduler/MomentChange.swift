package import NightshiftAPI

/// Decides what another moment means for transfers.
///
/// Pure: the moment before and the moment now in; what to do, in its order, out.
package enum MomentChange {
    package enum Action: Hashable, Sendable {
        /// Connections from before may be dead: new requests make new ones, and what runs has a short time to show that its
        /// own still carries something.
        case checkConnections
        /// Transfers that may not run at this moment are interrupted and keep their bytes.
        case stopForbidden
        /// Transfers that wait for somebody to log in to the network need not wait any more.
        case endPortalWaits
        /// The journal tells what became of the network. Where `endsPauses`, what failed for want of it need not wait for its
        /// pause to end, and nothing is held any more against hosts that could not be reached; both in one transaction.
        case note(JournalEntry, endsPauses: Bool)
        /// Transfers that may run are admitted.
        case admit
    }

    package static func actions(from old: DeviceMoment, to new: DeviceMoment, now: ClockReading) -> [Action] {
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

    /// The change of the network; nil where there was none and is none.
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
    /// Whether connections over `other` are not to be trusted over this one.
    fileprivate func isOther(than other: NetworkConditions) -> Bool {
        isAvailable != other.isAvailable || kind != other.kind || name != other.name
    }
}

extension DeviceConditions {
    /// Values as the journal tells them.
    func inputs(_ keys: [DeviceKey]) -> [String: String] {
        keys.reduce(into: [:]) { $0[$1.rawValue] = self[$1] }
    }
}
