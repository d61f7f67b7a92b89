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

/// An app as the API shows it.
package struct AppStatus: Hashable, Sendable, Codable {
    package var id: AppID
    package var name: String
    /// Nil for a program without an entry.
    package var manifest: AppManifest?
    package var state: AppState
    package var stateSince: Date?
    package var processID: Int32?
    /// Whether the service launched the process and may suspend it.
    package var isManaged: Bool
    /// Whether the process has reported: it links the library and hears of its transitions.
    package var isConnected: Bool
    /// Whether the user force-quit it: nothing launches it in the background.
    package var isForceQuit: Bool
    /// What it is working on in the background, or will be woken for.
    package var wakes: [WakeStatus]
    package var lastExit: AppExit?
    /// Launches in a row that ended in a fault.
    package var faults: Int
    /// Until when it is not launched in the background because of ``faults``.
    package var launchesPausedUntil: Date?
    /// Until when tasks that it adds in the background do not start (the resume rate limiter).
    package var startsPausedUntil: Date?
    package var snapshotTakenAt: Date?
    /// The identifiers of its sessions, as the app calls them.
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

/// One reason for which an app is awake in the background, or will be.
package struct WakeStatus: Hashable, Sendable, Codable {
    package var reason: WakeReason
    /// The session, as the app calls it; nil where the reason is another source's.
    package var session: String?
    /// What of another source it is about, such as a region's identifier.
    package var key: String?
    /// When the app is ended unless it has completed; nil while it has not begun.
    package var deadline: Date?

    package init(reason: WakeReason, session: String? = nil, key: String? = nil, deadline: Date? = nil) {
        self.reason = reason
        self.session = session
        self.key = key
        self.deadline = deadline
    }

    /// What it is about and why, in a person's words.
    package var sentence: String { (session ?? key).map { "\($0): \(reason.sentence)" } ?? reason.sentence }
}

package struct AppList: Sendable, Codable {
    package var apps: [AppStatus]
    /// Those whose rows make no sense; nil where there are none.
    package var unreadable: [UnreadableApp]?

    package init(apps: [AppStatus], unreadable: [UnreadableApp] = []) {
        self.apps = apps
        self.unreadable = unreadable.isEmpty ? nil : unreadable
    }
}

/// An app of which what is kept makes no sense. It is left alone until its row is removed.
package struct UnreadableApp: Hashable, Sendable, Codable {
    package var id: AppID
    /// For a person: what is wrong with it.
    package var reason: String

    package init(id: AppID, reason: String) {
        self.id = id
        self.reason = reason
    }

    package var sentence: String {
        "The stored data of \(id) cannot be read: \(reason) 'nightshift app remove \(id)' deletes it and keeps the app."
    }
}

/// `POST /v1/apps`: installs the desktop entry at an absolute path.
package struct InstallRequest: Sendable, Codable {
    package var entry: String

    package init(entry: String) {
        self.entry = entry
    }
}

/// `POST /v1/apps/{id}/launch`.
package struct LaunchRequest: Sendable, Codable {
    /// Launched without the user seeing it, as a wake would.
    package var background: Bool?
    /// Arguments behind those of the entry.
    package var arguments: [String]?

    package init(background: Bool? = nil, arguments: [String]? = nil) {
        self.background = background
        self.arguments = arguments
    }
}

/// `POST /v1/apps/{id}/quit`.
package struct QuitRequest: Sendable, Codable {
    /// The user's force quit: its transfers are cancelled, and nothing launches it until the user does.
    package var force: Bool?

    package init(force: Bool? = nil) {
        self.force = force
    }
}

/// `GET /v1/apps/{id}/why`: what an app does and how it came to that.
package struct AppExplanation: Sendable, Codable {
    package var app: AppStatus
    package var sentence: String
    /// What will change it.
    package var endedBy: String?
    package var history: [JournalEntry]

    package init(app: AppStatus, sentence: String, endedBy: String?, history: [JournalEntry]) {
        self.app = app
        self.sentence = sentence
        self.endedBy = endedBy
        self.history = history
    }
}
