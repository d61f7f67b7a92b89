import NightshiftAPI
import Scheduler

/// Changes of the state that are written to disk.
extension LocationState {
    /// Returns the changes to write in one transaction, and clears them. They count as written unless
    /// ``notWritten(_:now:)`` is called.
    package mutating func takeChanges() -> LocationChanges {
        let isReason =
            !(marks.removed.isEmpty && marks.cancelled.isEmpty && marks.apps.isEmpty && marks.begun.isEmpty
            && marks.entries.isEmpty) || marks.device
        if isReason { writeAll() }
        var changes = LocationChanges()
        changes.removed = marks.removed
        changes.cancelled = marks.cancelled
        for id in marks.apps { if let record = apps[id] { changes.apps[id] = record } }
        if marks.device {
            var kept = plan
            // The stored plan contains the side of each boundary. It does not contain the last location, and a region
            // event in progress is detected again.
            kept.restarted()
            changes.device = DeviceLocationRecord(bootID: bootID, plan: kept)
        }
        changes.begun = marks.begun
        changes.entries = marks.entries
        let (later, since) = (marks.later, marks.laterSince)
        marks = Marks()
        (marks.later, marks.laterSince) = (later, since)
        return changes
    }

    /// Includes the receiver's seconds in the next write. A change of these seconds alone does not cause a write.
    package mutating func writeAll() {
        marks.apps.formUnion(marks.later)
        marks.later = []
    }

    package mutating func takeEffects() -> [LocationEffect] {
        defer { effects = [] }
        return effects
    }

    /// Handles a failed transaction by adding its changes to the next one, so that region events and wakes are not
    /// lost.
    package mutating func notWritten(_ changes: LocationChanges, now: LocationMoment) {
        let begun = changes.begun.filter { wake in
            apps[wake.app] != nil && !marks.removed.contains(wake.app)
                && !marks.cancelled.contains { $0.covers(wake) }
                && !marks.begun.contains { ($0.app, $0.source, $0.key) == (wake.app, wake.source, wake.key) }
        }
        marks.removed.formUnion(changes.removed)
        // The records of apps that were removed and installed again are written completely, because their old rows must
        // still be deleted.
        marks.apps.formUnion(changes.removed.filter { apps[$0] != nil })
        marks.apps.formUnion(changes.apps.keys.filter { apps[$0] != nil })
        marks.cancelled = changes.cancelled + marks.cancelled
        marks.device = marks.device || changes.device != nil
        marks.begun = begun + marks.begun
        marks.entries = Array((changes.entries + marks.entries).suffix(Self.mostEntries))
        // The write is not repeated at once, because the disk may need time to recover.
        nextDeadline = min(nextDeadline ?? .infinity, now.bootSeconds + Self.pauseWithoutFix)
    }

    /// The maximum number of journal entries kept while the disk cannot be written. If there are more, the oldest are
    /// dropped.
    private static let mostEntries = 1_000
    /// The maximum number of seconds for which changed receiver seconds stay in memory only.
    static let longestDelay = 600.0
}
