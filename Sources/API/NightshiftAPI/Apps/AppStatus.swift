package import Foundation

/// The values of a desktop entry that the service uses.
package struct AppManifest: Hashable, Sendable, Codable {
    package var id: AppID
    package var name: String
    /// The absolute path of the desktop entry.
    package var entry: String
    /// The value of `Exec` without field codes: the program and its arguments.
    package var command: [String]
    /// The command that is run for a wake instead of ``command`` (`X-Nightshift-Wake`). Its exit status completes the
    /// wake.
    package var wakeCommand: [String]?
    /// The working directory of the app (`Path`). The default is the home directory of the user.
    package var directory: String?
    /// The purposes for which the app may be launched in the background (`X-Nightshift-BackgroundModes`).
    package var modes: Set<BackgroundMode>
    /// The time in seconds within which a background launch must complete (`X-Nightshift-WakeLimit`).
    package var wakeLimit: Double
    /// The maximum size in bytes of the stored output (`X-Nightshift-LogLimit`).
    package var logLimit: Int64
    /// The PNG file that an app without the library keeps up to date for the app switcher (`X-Nightshift-Snapshot`).
    package var snapshot: String?
    /// The background time that the app requests (`X-Nightshift-BackgroundPolicy`).
    package var backgroundPolicy: BackgroundPolicy?
    /// The handling of an app that is about to be suspended while it has a lock on a shared file
    /// (`X-Nightshift-FileLocks`).
    package var fileLocks: FileLockPolicy
    /// The class name of the windows of the app, if it differs from the name of the desktop entry (`StartupWMClass`).
    package var windowClass: String?
    /// A name in the icon theme, or a path (`Icon`).
    package var icon: String?

    /// The interval of background fetches, unless the app sets one itself (`X-Nightshift-FetchInterval`).
    package var fetchInterval: RefreshInterval?
    /// The identifiers of scheduled tasks that the app may submit (`X-Nightshift-TaskIdentifiers`). An app with such
    /// identifiers gets no classic background fetches.
    package var taskIdentifiers: [String]
    /// The reason why the app uses the location (`X-Nightshift-LocationReason`). The permission question shows it.
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
    /// Whether the process has connected to the service. A connected process links the library and is notified of state
    /// changes.
    package var isConnected: Bool
    /// Whether the user force-quit the app. The app is then never launched in the background.
    package var isForceQuit: Bool
    /// The reasons for which the app is awake in the background, or will be woken.
    package var wakes: [WakeStatus]
    package var lastExit: AppExit?
    /// The number of successive launches that ended in a failure of the app.
    package var faults: Int
    /// The end of the pause in background launches that ``faults`` caused.
    package var launchesPausedUntil: Date?
    /// The time before which transfers that the app adds in the background do not start. Apple calls this the resume
    /// rate limiter.
    package var startsPausedUntil: Date?
    package var snapshotTakenAt: Date?
    /// The identifiers that the app uses for its sessions.
    package var sessions: [String]
    package var background: BackgroundStatus
    /// A sentence about a program of the entry that a launch would not find. It is present only in the response to an
    /// installation.
    package var missingProgram: String?

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

/// A reason for which an app is awake in the background, or will be woken.
package struct WakeStatus: Hashable, Sendable, Codable {
    package var reason: WakeReason
    /// The identifier that the app uses for the session; nil if the source is not a session.
    package var session: String?
    /// The item of another source, such as the identifier of a region; nil for a session.
    package var key: String?
    /// The time at which the service ends the app unless it has completed the work; nil before the work begins.
    package var deadline: Date?

    package init(reason: WakeReason, session: String? = nil, key: String? = nil, deadline: Date? = nil) {
        self.reason = reason
        self.session = session
        self.key = key
        self.deadline = deadline
    }

    /// The item and the reason, as a sentence for display.
    package var sentence: String { (session ?? key).map { "\($0): \(reason.sentence)" } ?? reason.sentence }
}

package struct AppList: Sendable, Codable {
    package var apps: [AppStatus]
    /// The apps whose rows cannot be read; nil if all can be read.
    package var unreadable: [UnreadableApp]?

    package init(apps: [AppStatus], unreadable: [UnreadableApp] = []) {
        self.apps = apps
        self.unreadable = unreadable.isEmpty ? nil : unreadable
    }
}

/// An app whose stored data cannot be read. The service ignores it until its row is removed.
package struct UnreadableApp: Hashable, Sendable, Codable {
    package var id: AppID
    /// A description of the problem for display.
    package var reason: String

    package init(id: AppID, reason: String) {
        self.id = id
        self.reason = reason
    }

    package var sentence: String {
        "The stored data of \(id) cannot be read: \(reason) "
            + "'nightshift app remove \(id)' deletes the data and keeps the app."
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
    /// The arguments that follow those of the desktop entry.
    package var arguments: [String]?

    package init(background: Bool? = nil, arguments: [String]? = nil) {
        self.background = background
        self.arguments = arguments
    }
}

/// The body of `POST /v1/apps/{id}/quit`.
package struct QuitRequest: Sendable, Codable {
    /// Whether this is a force quit. It cancels the transfers of the app, and the app is not launched again until the
    /// user launches it.
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
