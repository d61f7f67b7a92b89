package import NightshiftAPI
package import Store

/// The decision about a new download whose file name is taken.
package enum NameClaim: Hashable, Sendable {
    /// The download is accepted.
    case free
    /// The download is the same as a running task.
    case joins(TaskID)
    /// The download is refused. The sentence names the holder of the name.
    case refused(String)

    /// Decides about a new download.
    ///
    /// - Parameters:
    ///   - record: the new task.
    ///   - other: an unfinished task with the same destination.
    ///   - isThere: whether the file exists.
    package static func of(_ record: TaskRecord, against other: TaskRecord?, isThere: Bool) -> NameClaim {
        guard let destination = record.request.destination, destination.isExact, let path = destination.path else {
            return .free
        }
        if let other {
            if destination.ifTaken == .join, record.isSame(as: other) { return .joins(other.id) }
            return .refused(
                "Transfer \(other.id) is already downloading \(path), from another URL or with other options. "
                    + "Wait for it, or cancel it."
            )
        }
        return isThere && !(destination.overwrite ?? false) ? .refused("\(path) already exists.") : .free
    }
}

extension TaskRecord {
    /// Whether the other task can serve the owner of this one equally well.
    fileprivate func isSame(as other: TaskRecord) -> Bool {
        session == other.session && !continues && request.unscheduled == other.request.unscheduled
    }
}

extension TaskRequest {
    /// The request without its schedule and rate, which may change while the task runs.
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
