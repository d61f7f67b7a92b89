package import NightshiftAPI
import Runtime
package import Store

extension LocationChanges: StateChanges {
    package func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        for output in outputs { try each { try transaction.apply(output, reading) } }
        for (app, record) in apps { try each { try transaction.putLocation(record, of: app) } }
        if let device { try each { try transaction.putLocationOfDevice(device) } }
        for entry in entries { try each { try transaction.record(entry) } }
    }
}

extension StoreTransaction {
    fileprivate func apply(_ output: LocationOutput, _ reading: ClockReading) throws {
        switch output {
        case .begin(let wake):
            try putWake(
                wake.app, wake.source, key: wake.key, payload: try JSON.encode(wake.event), timeout: wake.timeout,
                now: reading)
        case .cancel(.all(let app)): try deleteLocationWakes(of: app)
        case .cancel(.region(let app, let identifier)): try deleteLocationWakes(of: app, region: identifier)
        case .cancel(.significantChange(let app)): try deleteSignificantChangeWake(of: app)
        case .remove(let app): try deleteLocation(of: app)
        }
    }
}
