package import NightshiftAPI
package import Store

/// What becomes of a new download whose file has a name that is taken.
package enum NameClaim: Hashable, Sendable {
    /// It is accepted.
    case free
    /// It is the same as a task that is under way.
    case joins(TaskID)
    /// A sentence about what has the name.
    case refused(String)

    /// - Parameters:
    ///   - record: the new task.
    ///   - other: a task that has not ended and is to become the same file.
    ///   - isThere: whether the file exists.
    package static func of(_ record: TaskRecord, against other: TaskRecord?, isThere: Bool) -> NameClaim {
        guard let destination = record.request.destination, destination.isExact, let path = destination.path else {
            return .free
        }
        if let other {
            if destination.ifTaken == .join, record.isSame(as: other) { return .joins(other.id) }
            return .refused(
                "Task \(other.id) is already fetching \(path), from another URL or with other options. Wait for it, or cancel it."
            )
        }
        return isThere && !(destination.overwrite ?? false) ? .refused("\(path) already exists.") : .free
    }
}

extension TaskRecord {
    /// Whether whoever asks for this task can have the other one instead.
    fileprivate func isSame(as other: TaskRecord) -> Bool {
        session == other.session && !continues && request.unscheduled == other.request.unscheduled
    }
}

extension TaskRequest {
    /// The request without what says when and how fast, which may be changed while the task is under way.
    fileprivate var unscheduled: TaskRequest {
        var request = self
        request.priority = nil
        request.rateLimit = nil
        request.earliestBeginDate = nil
        request.description = nil
        request.suspended = nil
        return request
    }
}
