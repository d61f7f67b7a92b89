/// Bounds for everything a client can grow; `docs/limits.md` lists them with their reasons.
package enum Limits {
    /// Tasks in one `POST /v1/tasks`.
    package static let tasksPerRequest = 10_000
    /// Tasks in one `POST /v1/actions`.
    package static let tasksPerAction = 1_000
    /// Bytes of one request's body: ten thousand tasks of 1.6 KiB.
    package static let requestBody = 16 << 20
    /// Tasks or entries in one page of an answer.
    package static let pageSize = 1_000
    /// Bytes of the texts in one page of tasks, about: it ends behind the task that reaches them.
    package static let pageBytes = 4 << 20
    /// Event streams open at once.
    package static let eventStreams = 64
    /// Streams of commands and of messages open at once, for the processes of apps; counted apart from the others.
    package static let processStreams = 1_024
    /// Bytes of an app's picture of itself.
    package static let snapshotBytes = 8 << 20
    /// Background tasks of one app that are open at once.
    package static let backgroundTasks = 1_000
    /// Bytes of a background task's name.
    package static let backgroundTaskNameLength = 256
    /// Stints in the background that are kept of an app.
    package static let stints = 20
    /// Fetches that are kept of an app.
    package static let fetches = 20
    /// Scheduled tasks of an app that wait: one for refresh and ten for processing (Apple's numbers), and continued ones.
    package static let refreshTasks = 1
    package static let processingTasks = 10
    package static let continuedTasks = 10
    /// Continued tasks of all apps that run at once.
    package static let runningContinuedTasks = 4
    /// Pushes of an app that its status lists.
    package static let pushes = 20
    /// Bytes of a push's payload (Apple's, for `voip`); a message of UnifiedPush has 4,096.
    package static let pushPayload = 5_120
    /// Notifications of an app that are listed, and as many that wait for their time; the oldest go first.
    package static let notifications = 64
    /// Bytes of each text of a notification.
    package static let notificationText = 4_096
    /// Bytes of each of its identifiers, and of an action's title.
    package static let notificationIdentifierLength = 256
    package static let notificationCategories = 50
    /// The highest number at an app's icon.
    package static let badge = 999_999
    package static let notificationActions = 8
    /// Regions that an app may watch (Apple's).
    package static let regions = 20
    package static let regionIdentifierLength = 256
    /// Requests of an app for the place that are open at once.
    package static let locationUpdates = 64
    /// Bytes of an app's reason for wanting to know where its user is.
    package static let locationReasonLength = 512
    /// Identifiers of tasks that an entry may declare, and bytes of one.
    package static let taskIdentifiers = 100
    package static let taskIdentifierLength = 256
    /// Bytes of a continued task's title or subtitle.
    package static let taskTitleLength = 512
    package static let urlLength = 16_384

    /// Joules, and bytes, of a day that background refresh may be given: more than any device has, and exact as a `Double`.
    package static let dailyBudget = 1e15
    /// Fetches of a day to which an app can be limited: more than the service ever begins.
    package static let dailyFetches = 1_000
    package static let headerFields = 100
    /// Bytes of all header fields of one task.
    package static let headerBytes = 65_536
    /// Bytes that a download sends along: they are stored with the task.
    package static let downloadBody = 1 << 20
    /// Connections with one host that a session may allow; more are taken for so many.
    package static let connectionsPerHost = 1_000
    /// Other URLs of one file.
    package static let mirrors = 16
    /// Connections of one download: more brought nothing anywhere, and each costs memory at both ends.
    package static let connectionsPerTask = 32
    /// Fields of one form: as many files may be open for each upload that runs.
    package static let formFields = 100
    /// Bytes of a form's names and texts.
    package static let formTextBytes = 1 << 20
    package static let descriptionLength = 65_536
    /// Bytes that an app's library may note with a task.
    package static let clientDataLength = 131_072
    /// The greatest number that an app may give a task: exact in every reader of JSON, and the next one is a number too.
    package static let taskIdentifier: Int64 = 1 << 53 - 1
    package static let pathLength = 4_096
    package static let sessionIdentifierLength = 512
    package static let sessions = 10_000
    /// Tasks in the store, ended ones that nobody removed included.
    package static let tasks = 1_000_000
    /// Bytes of an upload's response. A longer one fails the task, and none is cut.
    package static let responseBody: Int64 = 1 << 30
    /// Bytes of an upload's response that are held in memory; a longer one goes to a file as it comes.
    package static let responseMemory = 1 << 20
    /// Bytes of a response's header fields that are kept.
    package static let responseHeaderBytes = 65_536
    /// Journal entries kept; the oldest go first.
    package static let journalEntries = 200_000
    package static let redirects = 20
    /// Seconds: 100 years, so that sums of times never overflow.
    package static let longestTimeout: Double = 3_155_760_000
}
