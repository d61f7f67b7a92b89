import NightshiftAPI
package import Scheduler
import Store

/// From what the book knows to what is on disk.
extension RefreshBook {
    /// What is to be written, in one transaction. It counts as written until ``notWritten(_:now:)`` says otherwise.
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

    /// The transaction failed: what it was to write is part of the next one, and what it was to begin has not begun.
    package mutating func notWritten(_ changes: RefreshChanges, now: LocalMoment) {
        marks.removed.formUnion(changes.removed)
        // What was written since for those that are there again goes with their old rows.
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
        // Not at once: the disk has to have changed.
        nextLook = now.seconds + Self.patience
    }

    /// Journal entries that wait for a disk that can be written again: the newest.
    private static let mostEntries = 1_000
}
