/// Bounds for everything a client can grow; `docs/limits.md` lists them with their reasons.
package enum Limits {
    /// Tasks in one `POST /v1/tasks`.
    package static let tasksPerRequest = 10_000
    /// Bytes of one request's body: ten thousand tasks of 1.6 KiB.
    package static let requestBody = 16 << 20
    /// Tasks or entries in one page of an answer.
    package static let pageSize = 1_000
    /// Event streams open at once.
    package static let eventStreams = 64
    package static let urlLength = 16_384
    package static let headerFields = 100
    /// Bytes of all header fields of one task.
    package static let headerBytes = 65_536
    package static let descriptionLength = 4_096
    package static let pathLength = 4_096
    package static let sessionIdentifierLength = 255
    package static let sessions = 10_000
    /// Tasks in the store, ended ones that nobody removed included.
    package static let tasks = 1_000_000
    /// Bytes of an upload's response that are kept.
    package static let responseBody = 1 << 20
    /// Bytes of a response's header fields that are kept.
    package static let responseHeaderBytes = 65_536
    /// Journal entries kept; the oldest go first.
    package static let journalEntries = 200_000
    package static let redirects = 20
    /// Seconds: 100 years, so that sums of times never overflow.
    package static let longestTimeout: Double = 3_155_760_000
}
