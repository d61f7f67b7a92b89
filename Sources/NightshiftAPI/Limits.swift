/// Limits for everything that a client can make grow. `docs/limits.md` lists them with their reasons.
package enum Limits {
    /// Transfers in one `POST /v1/tasks`.
    package static let tasksPerRequest = 10_000
    /// Transfers in one `POST /v1/actions`.
    package static let tasksPerAction = 1_000
    /// Bytes in the body of one request: enough for ten thousand transfers of 1.6 KiB.
    package static let requestBody = 16 << 20
    /// Transfers or entries in one page of a response.
    package static let pageSize = 1_000
    /// Approximate bytes of the strings in one page of transfers. A page ends after the transfer that reaches this
    /// limit.
    package static let pageBytes = 4 << 20
    /// Event streams that are open at the same time.
    package static let eventStreams = 64
    /// Streams of commands and messages to app processes that are open at the same time. They are counted separately
    /// from event streams.
    package static let processStreams = 1_024
    /// Bytes of the snapshot that an app sends for the app switcher.
    package static let snapshotBytes = 8 << 20
    /// Open background tasks of one app.
    package static let backgroundTasks = 1_000
    /// Bytes of a background task's name.
    package static let backgroundTaskNameLength = 256
    /// Background runs recorded for each app.
    package static let stints = 20
    /// Background fetches recorded for each app.
    package static let fetches = 20
    /// Waiting scheduled tasks of an app: one for refresh and ten for processing (Apple's numbers), and continued
    /// tasks.
    package static let refreshTasks = 1
    package static let processingTasks = 10
    package static let continuedTasks = 10
    /// Continued tasks of all apps that run at the same time.
    package static let runningContinuedTasks = 4
    /// Pushes listed in the status of an app.
    package static let pushes = 20
    /// Bytes in the payload of a push (Apple's limit for `voip`). A UnifiedPush message may have 4,096.
    package static let pushPayload = 5_120
    /// Listed notifications of an app, and likewise its notifications that wait for their time. The oldest are removed
    /// first.
    package static let notifications = 64
    /// Bytes in each string of a notification.
    package static let notificationText = 4_096
    /// Bytes in each identifier of a notification, and in the title of an action.
    package static let notificationIdentifierLength = 256
    package static let notificationCategories = 50
    /// The largest badge number on the icon of an app.
    package static let badge = 999_999
    package static let notificationActions = 8
    /// Monitored regions of an app (Apple's limit).
    package static let regions = 20
    package static let regionIdentifierLength = 256
    /// Open location update requests of an app.
    package static let locationUpdates = 64
    /// Bytes in the reason that an app gives for using the location.
    package static let locationReasonLength = 512
    /// Task identifiers that a desktop entry may declare, and also the maximum bytes of one.
    package static let taskIdentifiers = 100
    package static let taskIdentifierLength = 256
    /// Bytes in the title or subtitle of a continued task.
    package static let taskTitleLength = 512
    package static let urlLength = 16_384

    /// The largest daily budget for background refresh, in joules and in bytes. It is more than any device needs, and
    /// exact as a `Double`.
    package static let dailyBudget = 1e15
    /// The largest number of daily fetches that can be set as a limit for an app. The service never starts that many.
    package static let dailyFetches = 1_000
    package static let headerFields = 100
    /// Bytes in all header fields of one transfer.
    package static let headerBytes = 65_536
    /// Bytes in the request body of a download. The body is stored with the transfer.
    package static let downloadBody = 1 << 20
    /// The largest number of connections per host of a session. Larger values are reduced to this one.
    package static let connectionsPerHost = 1_000
    /// Mirror URLs of one file.
    package static let mirrors = 16
    /// Connections of one download. More connections did not improve the speed anywhere, and each one uses memory at
    /// both ends.
    package static let connectionsPerTask = 32
    /// Fields of one form. Each running upload may keep that many files open.
    package static let formFields = 100
    /// Bytes in the names and texts of a form.
    package static let formTextBytes = 1 << 20
    package static let descriptionLength = 65_536
    /// Bytes of client data that the library stores with a transfer.
    package static let clientDataLength = 131_072
    /// The largest task identifier that an app may use. It is exact in every JSON reader, and so is the next number.
    package static let taskIdentifier: Int64 = 1 << 53 - 1
    package static let pathLength = 4_096
    package static let sessionIdentifierLength = 512
    package static let sessions = 10_000
    /// Transfers in the store, including ended ones that have not been removed.
    package static let tasks = 1_000_000
    /// Bytes in the response to an upload. A longer response fails the transfer; it is never truncated.
    package static let responseBody: Int64 = 1 << 30
    /// Bytes of the response to an upload that are held in memory. A longer response is written to a file as it
    /// arrives.
    package static let responseMemory = 1 << 20
    /// Bytes of the header fields of a response that are stored.
    package static let responseHeaderBytes = 65_536
    /// Journal entries that are kept. The oldest are removed first.
    package static let journalEntries = 200_000
    package static let redirects = 20
    /// Seconds: 100 years. The limit prevents sums of times from overflowing.
    package static let longestTimeout: Double = 3_155_760_000
}
