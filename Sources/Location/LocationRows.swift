import Books
package import NightshiftAPI
package import Store

extension LocationBook: Book {}

extension LocationChanges: BookChanges {
    package func write(in transaction: StoreTransaction, at reading: ClockReading) throws {
        for app in removed { try transaction.deleteLocation(of: app) }
        for cancellation in cancelled {
            switch cancellation {
            case .all(let app): try transaction.deleteLocationWakes(of: app)
            case .region(let app, let identifier): try transaction.deleteLocationWakes(of: app, region: identifier)
            case .significantChange(let app): try transaction.deleteSignificantChangeWake(of: app)
            }
        }
        for (app, record) in apps { try transaction.putLocation(record, of: app) }
        if let device { try transaction.putLocationOfDevice(device) }
        for wake in begun {
            try transaction.putWake(
                wake.app, wake.source, key: wake.key, payload: try JSON.encode(wake.event), patience: wake.patience,
                now: reading)
        }
        for entry in entries { try transaction.record(entry) }
    }
}
