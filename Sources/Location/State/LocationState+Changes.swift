import NightshiftAPI
import Scheduler

/// Changes of the state for the disk.
extension LocationState {
    /// Takes the changes to write in one transaction. They count as written unless ``notWritten(_:now:)`` is called.
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
            // The stored plan keeps the sides of the boundaries. It has no last location, and a region event in
            // progress is detected again.
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

    /// Marks the receiver's seconds for the next write, which alone are no reason to sync the disk.
    package mutating func writeAll() {
        marks.apps.formUnion(marks.later)
        marks.later = []
    }

    package mutating func takeEffects() -> [LocationEffect] {
        defer { effects = [] }
        return effects
    }

    /// Handles a failed transaction: its changes become part of the next one. No region event is lost, and no wake.
    package mutating func notWritten(_ changes: LocationChanges, now: LocationMoment) {
        let begun = changes.begun.filter { wake in
            apps[wake.app] != nil && !marks.removed.contains(wake.app)
                && !marks.cancelled.contains { $0.covers(wake) }
                && !marks.begun.contains { ($0.app, $0.source, $0.key) == (wake.app, wake.source, wake.key) }
        }
        marks.removed.formUnion(changes.removed)
        // Apps that were removed and installed again are written completely, because their old rows are yet to be
        // deleted.
        marks.apps.formUnion(changes.removed.filter { apps[$0] != nil })
        marks.apps.formUnion(changes.apps.keys.filter { apps[$0] != nil })
        marks.cancelled = changes.cancelled + marks.cancelled
        marks.device = marks.device || changes.device != nil
        marks.begun = begun + marks.begun
        marks.entries = Array((changes.entries + marks.entries).suffix(Self.mostEntries))
        // Not at once, because the disk needs time to recover.
        nextDeadline = min(nextDeadline ?? .infinity, now.bootSeconds + Self.pauseWithoutFix)
    }

    /// The number of journal entries kept for a disk that cannot be written; the newest are kept.
    private static let mostEntries = 1_000
    /// The seconds for which the receiver's seconds may stay in memory only.
    static let longestDelay = 600.0
}
