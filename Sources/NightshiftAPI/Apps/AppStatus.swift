package import Foundation

/// What an app's desktop entry says, as far as the service is concerned.
package struct AppManifest: Hashable, Sendable, Codable {
    package var id: AppID
    package var name: String
    /// The absolute path of the entry.
    package var entry: String
    /// `Exec` without field codes: program and arguments.
    package var command: [String]
    /// `X-Nightshift-Wake`: what is run for a wake in place of ``command``; its exit status completes the wake.
    package var wakeCommand: [String]?
    /// `Path`: the directory it is started in; the user's home unless given.
    package var directory: String?
    /// `X-Nightshift-BackgroundModes`.
    package var modes: Set<BackgroundMode>
    /// `X-Nightshift-WakeLimit`: seconds a background launch may take to complete.
    package var wakeLimit: Double
    /// `X-Nightshift-LogLimit`: bytes of output that are kept.
    package var logLimit: Int64
    /// `X-Nightshift-Snapshot`: a PNG file that the app keeps up to date, for apps that do not link the library.
    package var snapshot: String?
    /// `X-Nightshift-BackgroundPolicy`: the background time it asks for.
    package var backgroundPolicy: BackgroundPolicy?
    /// `X-Nightshift-FileLocks`: what becomes of it when it is to be suspended with a lock on a shared file.
    package var fileLocks: FileLockPolicy
    /// `StartupWMClass`: the name by which its windows are known where that is not the entry's.
    package var windowClass: String?
    /// `Icon`: a name of the icon theme, or a path.
    package var icon: String?

    /// `X-Nightshift-FetchInterval`: the interval of background fetches of an app that says none itself.
    package var fetchInterval: RefreshInterval?
    /// `X-Nightshift-TaskIdentifiers`: the tasks that it may submit. With any there are no background fetches of the classic form.
    package var taskIdentifiers: [String]
    /// `X-Nightshift-LocationReason`: why it wants to know where its user is, for whoever is asked.
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
