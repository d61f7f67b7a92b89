package import NightshiftAPI
package import Store

/// The decision about a new download whose file name is already taken.
package enum NameClaim: Hashable, Sendable {
    /// The download is accepted.
    case free
    /// The download is the same as a running task.
    case joins(TaskID)
    /// The download is refused. The sentence names the transfer or the file that has the name.
    case refused(String)

    /// Decides whether a new download may use its file name.
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
                    + "Wait until that transfer ends, or cancel it."
            )
        }
        return isThere && !(destination.overwrite ?? false) ? .refused("\(path) already exists.") : .free
    }
}

extension TaskRecord {
    /// Returns the earlier transfer whose id the client gets instead of a new transfer, if the request allows that.
    ///
    /// - Parameter others: transfers of the same URL that have not ended.
    package func joined(among others: [TaskRecord]) -> TaskID? {
        switch request.ifSame ?? .new {
        case .new: nil
        case .join: others.first { isSame(as: $0) }?.id
        case .joinSuspended: others.first { $0.state == .suspended && isSame(as: $0) }?.id
        }
    }

    /// Returns whether the other task can serve the owner of this task equally well. Two uploads are the same if their
    /// file has not changed in between. Forms are never the same. A client that stores a number of its own as client
    /// data can repeat a request, and does not add the transfer twice.
    fileprivate func isSame(as other: TaskRecord) -> Bool {
        session == other.session && !continues && request.form == nil && source == other.source
            && clientData == other.clientData && request.unscheduled == other.request.unscheduled
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
        request.ifSame = nil
        return request
    }
}
