import Foundation
package import NightshiftAPI

/// From what the book knows to what is on disk.
extension PushBook {
    /// What is to be written, in one transaction. It counts as written until ``notWritten(_:now:)`` says otherwise.
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

    /// The apps that are told of their token now.
    package mutating func takeTold() -> Set<AppID> {
        defer { told = [] }
        return told
    }

    /// The transaction failed: what it was to write is part of the next one. What came has not come, since the gateway sends it
    /// again, and what was to begin waits.
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
        // Not at once: the disk has to have changed.
        nextLook = now + Self.pauseAfterFailure
    }

    /// Journal entries that wait for a disk that can be written again: the newest.
    private static let mostEntries = 1_000
    private static let pauseAfterFailure = 60.0
}
