/// The limits for everything that a client can make grow. `docs/limits.md` lists them with their reasons.
package enum Limits {
    /// The largest number of transfers that run at the same time. ``ServiceSettings/maximumTransfers`` sets a lower one.
    package static let runningTransfers = 256
    /// The maximum number of transfers in one `POST /v1/tasks`.
    package static let tasksPerRequest = 10_000
    /// The maximum number of transfers in one `POST /v1/actions`.
    package static let tasksPerAction = 1_000
    /// The maximum size in bytes of a request body. It is enough for ten thousand transfers of 1.6 KiB each.
    package static let requestBody = 16 << 20
    /// The maximum number of transfers or entries in one page of a response.
    package static let pageSize = 1_000
    /// The approximate maximum size in bytes of the strings in one page of transfers. A page ends after the transfer
    /// that reaches this limit.
    package static let pageBytes = 4 << 20
    /// The maximum number of event streams that are open at the same time.
    package static let eventStreams = 64
    /// The maximum number of open streams of commands and messages to app processes. They are counted separately from
    /// event streams.
    package static let processStreams = 1_024
    /// The maximum size in bytes of the snapshot that an app sends for the app switcher.
    package static let snapshotBytes = 8 << 20
    /// The maximum number of open background tasks of an app.
    package static let backgroundTasks = 1_000
    /// The maximum size in bytes of a background task's name.
    package static let backgroundTaskNameLength = 256
    /// The number of background runs that are recorded for each app.
    package static let backgroundRuns = 20
    /// The number of background fetches that are recorded for each app.
    package static let fetches = 20
    /// The maximum number of an app's waiting refresh tasks (Apple's number).
    package static let refreshTasks = 1
    /// The maximum number of an app's waiting processing tasks (Apple's number).
    package static let processingTasks = 10
    /// The maximum number of an app's waiting continued tasks.
    package static let continuedTasks = 10
    /// The maximum number of continued tasks that run at the same time, of all apps together.
    package static let runningContinuedTasks = 4
    /// The maximum number of pushes in the status of an app.
    package static let pushes = 20
    /// The maximum size in bytes of a push payload (Apple's limit for `voip`). A UnifiedPush message may have 4,096
    /// bytes.
    package static let pushPayload = 5_120
    /// The maximum number of listed notifications of an app, and also of its notifications that wait for their time.
    /// The oldest ones are removed first.
    package static let notifications = 64
    /// The maximum size in bytes of each string of a notification.
    package static let notificationText = 4_096
    /// The maximum size in bytes of each identifier of a notification, and of the title of an action.
    package static let notificationIdentifierLength = 256
    package static let notificationCategories = 50
    /// The largest badge number on the icon of an app.
    package static let badge = 999_999
    package static let notificationActions = 8
    /// The maximum number of monitored regions of an app (Apple's limit).
    package static let regions = 20
    package static let regionIdentifierLength = 256
    /// The maximum number of open requests for location updates of an app.
    package static let locationUpdates = 64
    /// The maximum size in bytes of the reason that an app gives for using the location.
    package static let locationReasonLength = 512
    /// The maximum number of task identifiers in a desktop entry, and also the maximum size in bytes of one identifier.
    package static let taskIdentifiers = 100
    package static let taskIdentifierLength = 256
    /// The maximum size in bytes of the title or subtitle of a continued task.
    package static let taskTitleLength = 512
    package static let urlLength = 16_384

    /// The largest daily budget for background refresh, in joules and in bytes. No device needs more. The value is
    /// exact as a `Double`.
    package static let dailyBudget = 1e15
    /// The largest number of daily fetches that can be set as a limit for an app. The service never starts so many
    /// fetches.
    package static let dailyFetches = 1_000
    package static let headerFields = 100
    /// The maximum size in bytes of all header fields of a transfer together.
    package static let headerBytes = 65_536
    /// The maximum size in bytes of the request body of a download. The body is stored with the transfer.
    package static let downloadBody = 1 << 20
    /// The largest number of connections per host of a session. Larger values are reduced to this number.
    package static let connectionsPerHost = 1_000
    /// The maximum number of mirror URLs of a file.
    package static let mirrors = 16
    /// The maximum number of connections of a download. In measurements, more connections were never faster, and each
    /// connection uses memory at both ends.
    package static let connectionsPerTask = 32
    /// The maximum number of connections to one host that a download of the command line uses by its own choice.
    package static let connectionsOfOneDownload = 8
    /// The maximum number of fields of a form. A running upload may keep as many files open.
    package static let formFields = 100
    /// The maximum size in bytes of all names and texts of a form together.
    package static let formTextBytes = 1 << 20
    package static let descriptionLength = 65_536
    /// The maximum size in bytes of the client data that the library stores with a transfer.
    package static let clientDataLength = 131_072
    /// The largest task identifier that an app may use. Every JSON reader represents this number and the next one
    /// exactly.
    package static let taskIdentifier: Int64 = 1 << 53 - 1
    package static let pathLength = 4_096
    package static let sessionIdentifierLength = 512
    package static let sessions = 10_000
    /// The maximum number of transfers in the store, including ended transfers that have not been removed.
    package static let tasks = 1_000_000
    /// The maximum size in bytes of the response to an upload. A longer response makes the transfer fail; it is never
    /// truncated.
    package static let responseBody: Int64 = 1 << 30
    /// The maximum size in bytes of an upload response that is kept in memory. A longer response is written to a file
    /// as it arrives.
    package static let responseMemory = 1 << 20
    /// The maximum size in bytes of the stored header fields of a response.
    package static let responseHeaderBytes = 65_536
    /// The maximum number of journal entries. The oldest entries are removed first.
    package static let journalEntries = 200_000
    package static let redirects = 20
    /// The longest timeout in seconds: 100 years. The limit prevents sums of times from overflowing.
    package static let longestTimeout: Double = 3_155_760_000
}
