import Foundation
package import NightshiftAPI

/// The methods that return the changes of the state for the disk, and handle a failed write.
extension PushState {
    /// Returns the changes to write in one transaction, and clears them. They count as written unless
    /// ``notWritten(_:now:)`` is called.
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

    /// Returns the apps whose processes now get a notice about their token, and clears the list.
    package mutating func takeTold() -> Set<AppID> {
        defer { told = [] }
        return told
    }

    /// Handles a failed transaction by adding its changes to the next one. Pushes in the failed transaction are
    /// dropped, because the gateway sends them again. Pushes whose wakes it contained wait.
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
        // The write is not repeated at once, because the disk may need time to recover.
        nextDeadline = now + Self.pauseAfterFailure
    }

    /// The maximum number of journal entries kept while the disk cannot be written. If there are more, the oldest are
    /// dropped.
    private static let mostEntries = 1_000
    private static let pauseAfterFailure = 60.0
}
