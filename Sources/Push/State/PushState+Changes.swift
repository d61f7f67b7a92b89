import Foundation
package import NightshiftAPI

/// Changes of the state for the disk.
extension PushState {
    /// Takes the changes to write in one transaction. They count as written unless ``notWritten(_:now:)`` is called.
    package mutating func takeChanges() -> PushChanges {
        var changes = PushChanges()
        changes.removed = marks.removed
        for app in marks.apps { if let known = apps[app] { changes.apps[app] = known } }
        if marks.device { changes.device = device }
        changes.pushes = marks.pushes.compactMap { pushes[$0] }.sorted { $0.number < $1.number }
        for push in changes.pushes { changes.payloads[push.record.id] = payloads[push.record.id] }
        changes.received = marks.received
        changes.wakes = marks.wakes
        changes.alerts = marks.alerts
        changes.releases = marks.releases
        changes.forgotten = marks.forgotten
        changes.ends = marks.ends
        changes.entries = marks.entries
        marks = Marks()
        return changes
    }

    /// Takes the apps whose processes get a notice about their token now.
    package mutating func takeTold() -> Set<AppID> {
        defer { told = [] }
        return told
    }

    /// Handles a failed transaction: its changes become part of the next one. Pushes that it contained are dropped,
    /// because the gateway sends them again, and the wakes that it contained wait.
    package mutating func notWritten(_ changes: PushChanges, now: Double) {
        marks.removed.formUnion(changes.removed)
        marks.apps.formUnion(changes.apps.keys)
        marks.apps.formUnion(changes.removed.filter { apps[$0] != nil })
        marks.device = marks.device || changes.device != nil
        for wake in changes.wakes where !changes.received.contains(wake.id) {
            guard pushes[wake.id]?.record.state == .running else { continue }
            pushes[wake.id]?.record.state = .waiting
            pushes[wake.id]?.record.woken = nil
            payloads[wake.id] = wake.payload
        }
        for id in changes.received {
            pushes[id] = nil
            payloads[id] = nil
            marks.pushes.remove(id)
        }
        order.removeAll(where: changes.received.contains)
        marks.releases.removeAll { release in
            changes.alerts.contains { $0.app == release.app && $0.notification.identifier == release.identifier }
        }
        marks.pushes.formUnion(changes.pushes.map(\.record.id).filter { pushes[$0] != nil })
        marks.releases = changes.releases + marks.releases
        marks.forgotten = changes.forgotten + marks.forgotten
        marks.ends = changes.ends + marks.ends
        let told = changes.entries.filter { $0.decision != .pushReceived }
        marks.entries = Array((told + marks.entries).suffix(Self.mostEntries))
        // Not at once, because the disk needs time to recover.
        nextDeadline = now + Self.pauseAfterFailure
    }

    /// The number of journal entries kept for a disk that cannot be written; the newest are kept.
    private static let mostEntries = 1_000
    private static let pauseAfterFailure = 60.0
}
