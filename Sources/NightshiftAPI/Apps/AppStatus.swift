package import Foundation

/// The values of a desktop entry that the service uses.
package struct AppManifest: Hashable, Sendable, Codable {
    package var id: AppID
    package var name: String
    /// The absolute path of the desktop entry.
    package var entry: String
    /// `Exec` without field codes: the program and its arguments.
    package var command: [String]
    /// `X-Nightshift-Wake`: the command that is run for a wake instead of ``command``. Its exit status completes the
    /// wake.
    package var wakeCommand: [String]?
    /// `Path`: the working directory of the app; by default the home directory of the user.
    package var directory: String?
    /// `X-Nightshift-BackgroundModes`.
    package var modes: Set<BackgroundMode>
    /// `X-Nightshift-WakeLimit`: the seconds within which a background launch must complete.
    package var wakeLimit: Double
    /// `X-Nightshift-LogLimit`: the bytes of output that are kept.
    package var logLimit: Int64
    /// `X-Nightshift-Snapshot`: the PNG file that an app without the library keeps up to date for the app switcher.
    package var snapshot: String?
    /// `X-Nightshift-BackgroundPolicy`: the background time that the app requests.
    package var backgroundPolicy: BackgroundPolicy?
    /// `X-Nightshift-FileLocks`: the handling of an app that is about to be suspended while it holds a lock on a shared
    /// file.
    package var fileLocks: FileLockPolicy
    /// `StartupWMClass`: the class name of the windows of the app, if it differs from the name of the desktop entry.
    package var windowClass: String?
    /// `Icon`: a name in the icon theme, or a path.
    package var icon: String?

    /// `X-Nightshift-FetchInterval`: the interval of background fetches, unless the app sets one itself.
    package var fetchInterval: RefreshInterval?
    /// `X-Nightshift-TaskIdentifiers`: the scheduled tasks that the app may submit. If there are any, the app gets no
    /// classic background fetches.
    package var taskIdentifiers: [String]
    /// `X-Nightshift-LocationReason`: the reason for which the app uses the location, shown in the permission question.
    package var locationReason: String?

    package static let defaultWakeLimit: Double = 30
    package static let defaultLogLimit: Int64 = 1 << 20

    package init(id: AppID, name: String, entry: String, command: [String]) {
        self.id = id
        self.name = name
        self.entry = entry
        self.command = command
        modes = []
        wakeLimit = Self.defaultWakeLimit
        logLimit = Self.defaultLogLimit
        fileLocks = .warn
        taskIdentifiers = []
    }
}

/// The status of an app as shown by the API.
package struct AppStatus: Hashable, Sendable, Codable {
    package var id: AppID
    package var name: String
    /// The values of the desktop entry; nil for a program without an entry.
    package var manifest: AppManifest?
    package var state: AppState
    package var stateSince: Date?
    package var processID: Int32?
    /// Whether the service launched the process and may suspend it.
    package var isManaged: Bool
    /// Whether the process has connected to the service: it links the library and is notified of state changes.
    package var isConnected: Bool
    /// Whether the user force-quit the app. It is then never launched in the background.
    package var isForceQuit: Bool
    /// The work that the app is doing in the background, or will be woken for.
    package var wakes: [WakeStatus]
    package var lastExit: AppExit?
    /// The number of successive launches that ended in a failure of the app.
    package var faults: Int
    /// The end of the pause in background launches that was caused by ``faults``.
    package var launchesPausedUntil: Date?
    /// The time before which transfers that the app adds in the background do not start (the resume rate limiter).
    package var startsPausedUntil: Date?
    package var snapshotTakenAt: Date?
    /// The identifiers of the app's sessions, as the app calls them.
    package var sessions: [String]
    package var background: BackgroundStatus

    package init(id: AppID, name: String, state: AppState, background: BackgroundStatus) {
        self.id = id
        self.name = name
        self.state = state
        self.background = background
        isManaged = false
        isConnected = false
        isForceQuit = false
        wakes = []
        faults = 0
        sessions = []
    }
}

/// One reason for which an app is awake in the background, or will be woken.
package struct WakeStatus: Hashable, Sendable, Codable {
    package var reason: WakeReason
    /// The identifier that the app uses for the session; nil if the source is not a session.
    package var session: String?
    /// The item of another source, such as the identifier of a region.
    package var key: String?
    /// The time at which the app is ended unless it has completed the work; nil before the work begins.
    package var deadline: Date?

    package init(reason: WakeReason, session: String? = nil, key: String? = nil, deadline: Date? = nil) {
        self.reason = reason
        self.session = session
        self.key = key
        self.deadline = deadline
    }

    /// The item and the reason, as a sentence for people.
    package var sentence: String { (session ?? key).map { "\($0): \(reason.sentence)" } ?? reason.sentence }
}

package struct AppList: Sendable, Codable {
    package var apps: [AppStatus]
    /// Apps whose rows cannot be read; nil if there are none.
    package var unreadable: [UnreadableApp]?

    package init(apps: [AppStatus], unreadable: [UnreadableApp] = []) {
        self.apps = apps
        self.unreadable = unreadable.isEmpty ? nil : unreadable
    }
}

/// An app whose stored data cannot be read. The service ignores it until its row is removed.
package struct UnreadableApp: Hashable, Sendable, Codable {
    package var id: AppID
    /// A description of the problem for people.
    package var reason: String

    package init(id: AppID, reason: String) {
        self.id = id
        self.reason = reason
    }

    package var sentence: String {
        "The stored data of \(id) cannot be read: \(reason) 'nightshift app remove \(id)' deletes it and keeps the app."
    }
}

/// The body of `POST /v1/apps`, which installs the desktop entry at an absolute path.
package struct InstallRequest: Sendable, Codable {
    package var entry: String

    package init(entry: String) {
        self.entry = entry
    }
}

/// The body of `POST /v1/apps/{id}/launch`.
package struct LaunchRequest: Sendable, Codable {
    /// Whether the app is launched in the background, as for a wake.
    package var background: Bool?
    /// Arguments that follow those of the desktop entry.
    package var arguments: [String]?

    package init(background: Bool? = nil, arguments: [String]? = nil) {
        self.background = background
        self.arguments = arguments
    }
}

/// The body of `POST /v1/apps/{id}/quit`.
package struct QuitRequest: Sendable, Codable {
    /// Whether this is a force quit: transfers of the app are cancelled, and it is not launched again until the user
    /// launches it.
    package var force: Bool?

    package init(force: Bool? = nil) {
        self.force = force
    }
}

/// The response of `GET /v1/apps/{id}/why`: the state of an app and the decisions that led to it.
package struct AppExplanation: Sendable, Codable {
    package var app: AppStatus
    package var sentence: String
    /// The time or event that will change the state.
    package var endedBy: String?
    package var history: [JournalEntry]

    package init(app: AppStatus, sentence: String, endedBy: String?, history: [JournalEntry]) {
        self.app = app
        self.sentence = sentence
        self.endedBy = endedBy
        self.history = history
    }
}
