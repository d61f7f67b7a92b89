import Books
package import NightshiftAPI
package import Store

extension PushBooks: Book {}

extension PushBooks.Changes: BookChanges {
    package func write(in transaction: StoreTransaction, at reading: ClockReading) throws {
        try pushes.write(in: transaction, at: reading)
        try unified.write(in: transaction)
    }
}

extension PushChanges {
    fileprivate func write(in transaction: StoreTransaction, at reading: ClockReading) throws {
        for app in removed { try transaction.deletePushes(of: app) }
        for (app, record) in apps { try transaction.putPush(record, of: app) }
        if let device { try transaction.putPushOfDevice(device) }
        for push in pushes {
            let id = push.record.id
            try transaction.putPushMessage(id, of: push.app, push, payload: payloads[id])
        }
        for wake in wakes {
            try transaction.putPushWake(
                wake.id, of: wake.app, payload: try JSON.encode(wake.delivery), patience: wake.patience, now: reading)
        }
        for alert in alerts {
            try transaction.putNotification(alert.notification, for: alert.app, due: alert.due)
        }
        for release in releases {
            try transaction.releaseNotification(release.identifier, of: release.app, at: release.due)
        }
        try transaction.deletePushMessages(forgotten)
        try transaction.deleteWakeEnds(ends)
        for entry in entries { try transaction.record(entry) }
    }
}

extension UnifiedPushChanges {
    fileprivate func write(in transaction: StoreTransaction) throws {
        for topic in removed { try transaction.deleteUnifiedPush(topic: topic) }
        for registration in registrations {
            try transaction.putUnifiedPush(registration, topic: registration.topic)
        }
        for message in messages {
            try transaction.putUnifiedPushMessage(
                message.id, topic: message.topic, message, payload: payloads[message.id])
        }
        try transaction.deleteUnifiedPushMessages(forgotten)
        for entry in entries { try transaction.record(entry) }
    }
}
