import NightshiftAPI
import Scheduler

/// From what the book knows to what is on disk.
extension LocationBook {
    /// What is to be written, in one transaction. It counts as written until ``notWritten(_:now:)`` says otherwise.
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
            // The sides are kept. The last place is not, and a crossing that has begun is found again.
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

    /// Has that written, too, which is no reason for a sync of the disk by itself.
    package mutating func writeAll() {
        marks.apps.formUnion(marks.later)
        marks.later = []
    }

    package mutating func takeEffects() -> [LocationEffect] {
        defer { effects = [] }
        return effects
    }

    /// The transaction failed: what it was to write is part of the next one. A crossing is as little lost as its wake.
    package mutating func notWritten(_ changes: LocationChanges, now: LocationMoment) {
        let begun = changes.begun.filter { wake in
            apps[wake.app] != nil && !marks.removed.contains(wake.app)
                && !marks.cancelled.contains { $0.covers(wake) }
                && !marks.begun.contains { ($0.app, $0.source, $0.key) == (wake.app, wake.source, wake.key) }
        }
        marks.removed.formUnion(changes.removed)
        // What was written since for those that are there again goes with their old rows.
        marks.apps.formUnion(changes.removed.filter { apps[$0] != nil })
        marks.apps.formUnion(changes.apps.keys.filter { apps[$0] != nil })
        marks.cancelled = changes.cancelled + marks.cancelled
        marks.device = marks.device || changes.device != nil
        marks.begun = begun + marks.begun
        marks.entries = Array((changes.entries + marks.entries).suffix(Self.mostEntries))
        // Not at once: the disk has to have changed.
        nextLook = min(nextLook ?? .infinity, now.bootSeconds + Self.pauseWithoutFix)
    }

    /// Journal entries that wait for a disk that can be written again: the newest.
    private static let mostEntries = 1_000
    /// Seconds for which the receiver's seconds may stay in memory alone.
    static let longestDelay = 600.0
}
