package import NightshiftAPI
package import Store

/// A task that gets another URL.
extension TaskRecord {
    /// Another request takes the place of its own, but for what owners change of tasks that are there: it was made from a copy of
    /// the task that may be older than such a change. One of another URL finds nothing that was its predecessor's.
    package mutating func replaceRequest(by replacement: TaskRequest) {
        let isElsewhere = replacement.url != request.url
        let old = request
        request = replacement
        request.rateLimit = old.rateLimit
        request.description = old.description
        if isElsewhere { leaveURL() }
    }

    /// Another URL is asked from here on: bytes from the old one have to prove that they belong there, and what a server keeps of an
    /// upload is of an upload to the old one.
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
