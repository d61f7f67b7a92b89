import NightshiftAPI
package import Scheduler
import Store

/// The changes that are to be written to disk.
extension RefreshState {
    /// Returns the changes for one transaction and clears them. They count as written unless ``notWritten(_:now:)`` is
    /// called.
    package mutating func takeChanges() -> RefreshChanges {
        var changes = RefreshChanges()
        changes.removed = marks.removed
        for id in marks.apps {
            guard let planned = planner.apps[id] else { continue }
            changes.apps[id] = RefreshRecord(planned: planned, known: apps[id] ?? KnownApp())
        }
        if marks.device {
            changes.device = DeviceRefreshRecord(
                budget: planner.budget, rhythm: planner.rhythm, isOn: isOn, tellsUse: tellsUse)
        }
        for key in marks.tasks { changes.tasks.updateValue(tasks[key], forKey: key) }
        changes.begun = marks.begun
        changes.entries = marks.entries
        changes.forgotten = marks.forgotten
        if marks.endsThrough > marks.endsWritten { changes.endsThrough = marks.endsThrough }
        let (through, written) = (marks.endsThrough, max(marks.endsWritten, changes.endsThrough ?? 0))
        marks = Marks()
        (marks.endsThrough, marks.endsWritten) = (through, written)
        return changes
    }

    package mutating func takeEffects() -> [RefreshEffect] {
        defer { effects = [] }
        return effects
    }

    /// Handles a failed transaction. Its changes become part of the next one, and the wakes in it count as not begun.
    package mutating func notWritten(_ changes: RefreshChanges, now: LocalMoment) {
        marks.removed.formUnion(changes.removed)
        // Apps that were removed and installed again are written completely, because their old rows must still be
        // deleted.
        marks.apps.formUnion(changes.removed.filter { apps[$0] != nil })
        marks.tasks.formUnion(tasks.keys.filter { changes.removed.contains($0.app) })
        marks.apps.formUnion(changes.apps.keys)
        marks.device = marks.device || changes.device != nil
        marks.tasks.formUnion(changes.tasks.keys)
        marks.forgotten = changes.forgotten + marks.forgotten
        let undone = Set(changes.begun.map(\.app))
        let told = changes.entries.filter { entry in
            let isBegin = entry.decision == .fetchBegan || entry.decision == .taskBegan
            return !isBegin || !(entry.app.map(undone.contains) ?? false)
        }
        marks.entries = Array((told + marks.entries).suffix(Self.mostEntries))
        if let through = changes.endsThrough { marks.endsWritten = min(marks.endsWritten, through - 1) }
        for wake in changes.begun { didNotBegin(wake, now) }
        // The next attempt is delayed, because the disk needs time to recover.
        nextDeadline = now.seconds + Self.timeout
    }

    /// The maximum number of journal entries that are kept while the disk cannot be written. The newest are kept.
    private static let mostEntries = 1_000
}
