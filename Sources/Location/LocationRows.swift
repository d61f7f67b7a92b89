import Books
package import NightshiftAPI
package import Store

extension LocationState: RunnerState {}

extension LocationChanges: StateChanges {
    package func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        for app in removed { try each { try transaction.deleteLocation(of: app) } }
        for cancellation in cancelled { try each { try transaction.apply(cancellation) } }
        for (app, record) in apps { try each { try transaction.putLocation(record, of: app) } }
        if let device { try each { try transaction.putLocationOfDevice(device) } }
        for wake in begun {
            try each {
                try transaction.putWake(
                    wake.app, wake.source, key: wake.key, payload: try JSON.encode(wake.event), timeout: wake.timeout,
                    now: reading)
            }
        }
        for entry in entries { try each { try transaction.record(entry) } }
    }
}

extension StoreTransaction {
    fileprivate func apply(_ cancellation: LocationCancellation) throws {
        switch cancellation {
        case .all(let app): try deleteLocationWakes(of: app)
        case .region(let app, let identifier): try deleteLocationWakes(of: app, region: identifier)
        case .significantChange(let app): try deleteSignificantChangeWake(of: app)
        }
    }
}
