import NightshiftAPI
import Store
import Synchronization

/// The current requests of a running task's owner. All copies of the transfer share them, so that storing an older copy
/// does not undo a request.
final class OwnerRequests: Sendable {
    private struct Values {
        var priority: Double
        var rateLimit: Int64?
        var description: String?
    }

    private let values: Mutex<Values>

    init(_ record: TaskRecord) {
        values = Mutex(Self.values(record))
    }

    var priority: Double { values.withLock(\.priority) }

    /// Applies the owner's change of `record`.
    func apply(_ record: TaskRecord) {
        let new = Self.values(record)
        values.withLock { $0 = new }
    }

    func apply(to record: inout TaskRecord) {
        let values = values.withLock { $0 }
        record.priority = values.priority
        record.request.rateLimit = values.rateLimit
        record.request.description = values.description
    }

    private static func values(_ record: TaskRecord) -> Values {
        Values(
            priority: record.priority, rateLimit: record.request.rateLimit, description: record.request.description)
    }
}
