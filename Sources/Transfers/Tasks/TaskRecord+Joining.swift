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
    /// The task that is answered with instead of this new one, where it was requested so.
    ///
    /// - Parameter others: tasks that have not ended, of the same URL.
    package func joined(among others: [TaskRecord]) -> TaskID? {
        switch request.ifSame ?? .new {
        case .new: nil
        case .join: others.first { isSame(as: $0) }?.id
        case .joinSuspended: others.first { $0.state == .suspended && isSame(as: $0) }?.id
        }
    }

    /// Whether the request for this task is answered as well by the other one. A file to upload is the same while it has not
    /// changed; of forms that is not known.
    fileprivate func isSame(as other: TaskRecord) -> Bool {
        session == other.session && !continues && request.form == nil && source == other.source
            && request.unscheduled == other.request.unscheduled
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
        request.ifSame = nil
        return request
    }
}
