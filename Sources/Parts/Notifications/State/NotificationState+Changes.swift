import NightshiftAPI
import Runtime
import Store

/// The comparison of the state with the disk.
extension NotificationState {
    /// Rows that are written once.
    enum Output: Hashable, Sendable {
        case respond(NotificationResponse, AppID)
        /// The app was removed, so its rows are deleted, also those that other features have written.
        case forget(AppID)
    }

    package func changes(since durable: Self) -> [NotificationChange] {
        var forgotten: Set<AppID> = []
        var changes: [NotificationChange] = []
        for case .forget(let app) in outbox.rows where forgotten.insert(app).inserted { changes.append(.forget(app)) }
        for (app, record) in apps where forgotten.contains(app) || durable.apps[app] != record {
            changes.append(.app(record, app))
        }
        if items.map(\.stored) != durable.items.map(\.stored) || !forgotten.isEmpty {
            changes += itemChanges(since: durable.items.map(\.stored).filter { !forgotten.contains($0.app) })
        }
        for case .respond(let response, let app) in outbox.rows { changes.append(.respond(response, app)) }
        return changes + journal.rows.map { .entry($0) }
    }

    /// Returns the changes of notifications. A row that only changes keeps its place in the order. A row that was added
    /// again comes last.
    private func itemChanges(since durable: [StoredNotification]) -> [NotificationChange] {
        let positions = Dictionary(durable.enumerated().map { ($0.element.key, $0.offset) }) { $1 }
        let keys = Set(items.map(\.stored.key))
        var changes = durable.filter { !keys.contains($0.key) }.map { NotificationChange.remove($0) }
        var last = -1
        for item in items {
            guard let position = positions[item.stored.key], position > last else {
                changes.append(.put(item.stored))
                continue
            }
            last = position
            if durable[position] != item.stored { changes.append(.update(item.stored)) }
        }
        return changes
    }

    package mutating func wrote(_ copy: Self) {
        outbox.wrote(copy.outbox)
        journal.wrote(copy.journal)
    }
}
