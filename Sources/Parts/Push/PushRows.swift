package import NightshiftAPI
import Runtime
package import Store

extension PushStates.Changes: StateChanges {
    package func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        try pushes.write(in: transaction, at: reading, each: each)
        try unified.write(in: transaction, each: each)
    }
}

extension PushChanges {
    fileprivate func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        for case .remove(let app) in outputs { try each { try transaction.deletePushes(of: app) } }
        for (app, record) in apps { try each { try transaction.putPush(record, of: app) } }
        if let device { try each { try transaction.putPushOfDevice(device) } }
        for push in pushes {
            let id = push.record.id
            try each { try transaction.putPushMessage(id, of: push.app, push, payload: payloads[id]) }
        }
        for output in outputs { try each { try transaction.apply(output, reading) } }
        if !forgotten.isEmpty { try each { try transaction.deletePushMessages(forgotten) } }
        for entry in entries { try each { try transaction.record(entry) } }
    }
}

extension UnifiedPushChanges {
    fileprivate func write(in transaction: StoreTransaction, each: (() throws -> Void) throws -> Void) throws {
        for topic in removed { try each { try transaction.deleteUnifiedPush(topic: topic) } }
        for registration in registrations {
            try each { try transaction.putUnifiedPush(registration, topic: registration.topic) }
        }
        for message in messages {
            try each {
                try transaction.putUnifiedPushMessage(
                    message.id, topic: message.topic, message, payload: payloads[message.id])
            }
        }
        if !forgotten.isEmpty { try each { try transaction.deleteUnifiedPushMessages(forgotten) } }
        for entry in entries { try each { try transaction.record(entry) } }
    }
}

extension StoreTransaction {
    fileprivate func apply(_ output: PushOutput, _ reading: ClockReading) throws {
        switch output {
        case .wake(let wake):
            try putPushWake(
                wake.id, of: wake.app, key: wake.key, payload: try JSON.encode(wake.delivery), timeout: wake.timeout,
                now: reading)
        case .alert(let alert): try putNotification(alert.notification, for: alert.app, due: alert.due)
        case .endTaken(let id): try deleteWakeEnds([id])
        // Deletions come first.
        case .remove: break
        }
    }
}
