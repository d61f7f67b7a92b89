package import NightshiftAPI
package import Store

/// A task that gets another URL.
extension TaskRecord {
    /// Replaces the task's request, except for the values that owners may change later: the replacement may come from
    /// an older copy of the task. With another URL, no state of the old one is kept.
    package mutating func replaceRequest(by replacement: TaskRequest) {
        let isElsewhere = replacement.url != request.url
        let old = request
        request = replacement
        request.rateLimit = old.rateLimit
        request.description = old.description
        if isElsewhere { leaveURL() }
    }

    /// Prepares the task for another URL: bytes from the old one have to be proven there, and a partial upload at the
    /// old URL is not continued.
    mutating func leaveURL() {
        partial?.leaveURL()
        currentURL = nil
        response = nil
        firstDoubt = nil
        guard upload != nil else { return }
        upload = nil
        sent = 0
    }
}
