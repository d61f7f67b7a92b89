package import NightshiftAPI
package import Store

/// The changes to a task that gets another URL.
extension TaskRecord {
    /// Replaces the task's request, except for the values that owners may change later, because the replacement may
    /// come from an older copy of the task. If the URL changes, the state that belongs to the old URL is cleared.
    package mutating func replaceRequest(by replacement: TaskRequest) {
        let isElsewhere = replacement.url != request.url
        let old = request
        request = replacement
        request.rateLimit = old.rateLimit
        request.description = old.description
        if isElsewhere { leaveURL() }
    }

    /// Prepares the task for another URL. The server at the new URL has to prove that it has the bytes from the old
    /// URL. A partial upload at the old URL is not continued.
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
