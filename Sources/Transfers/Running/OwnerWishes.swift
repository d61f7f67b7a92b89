import NightshiftAPI
import Store
import Synchronization

/// What the owner of a running task asks for at this moment. Copies of the transfer share it, so that one that was made
/// before a request undoes nothing of it.
final class OwnerWishes: Sendable {
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

    /// A request of the owner has changed `record`.
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
