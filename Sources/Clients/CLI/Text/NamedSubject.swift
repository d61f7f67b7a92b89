import NightshiftAPI

/// The result of a search for a name.
enum NamedSubject: Sendable {
    case app(AppID)
    /// The newest transfer with this name, and a sentence about the others.
    case task(TaskID, note: String?)
    case push(PushRecord, of: AppPushStatus)
    /// The regions of all apps that have this identifier.
    case regions([WatchedRegion])
}

struct WatchedRegion: Sendable {
    var app: AppLocationStatus
    var region: RegionStatus
}

extension NamedSubject {
    /// Returns the app with this id or name. Without such an app, returns the first app whose id or name contains
    /// `name`. The case of letters is ignored.
    static func app(_ name: String, in apps: [AppStatus]) -> AppID? {
        let wanted = name.lowercased()
        func names(_ app: AppStatus) -> [String] { [app.id.rawValue.lowercased(), app.name.lowercased()] }
        let found =
            apps.first { names($0).contains(wanted) }
            ?? apps.first { app in names(app).contains { $0.contains(wanted) } }
        return found?.id
    }

    static func push(_ name: String, in apps: [AppPushStatus]) -> NamedSubject? {
        let wanted = name.lowercased()
        for app in apps {
            if let push = app.pushes.first(where: { $0.id.lowercased() == wanted }) { return .push(push, of: app) }
        }
        return nil
    }

    static func regions(_ name: String, in apps: [AppLocationStatus]) -> NamedSubject? {
        let wanted = name.lowercased()
        let found = apps.flatMap { app in
            app.regions.filter { $0.region.identifier.lowercased() == wanted }.map {
                WatchedRegion(app: app, region: $0)
            }
        }
        return found.isEmpty ? nil : .regions(found)
    }
}

/// A collector of the transfers that match a name best.
struct TaskMatches {
    private let name: String
    private let wanted: String
    private let path: String?
    private let url: String?
    private var best = Fit.none
    /// The ids of the matching transfers in ascending order.
    private(set) var ids: [TaskID] = []

    private enum Fit: Int, Comparable {
        case none, part, whole

        static func < (one: Fit, other: Fit) -> Bool { one.rawValue < other.rawValue }
    }

    /// Creates an empty collector.
    ///
    /// - Parameter path: `name` as an absolute path.
    init(name: String, path: String?) {
        self.name = name
        wanted = name.lowercased()
        self.path = path
        url = name.contains("://") ? try? TransferURL(parsing: name).string : nil
    }

    mutating func add(_ task: TaskStatus) {
        let fit = fit(task)
        guard fit > .none, fit >= best else { return }
        if fit > best { ids = [] }
        best = fit
        ids.append(task.id)
    }

    private func fit(_ task: TaskStatus) -> Fit {
        if let url { return [task.url, task.currentURL].contains(url) ? .whole : .none }
        if let path, [task.file, task.destination?.path, task.source].contains(path) { return .whole }
        let name = TaskText.name(task).lowercased()
        if name == wanted { return .whole }
        return name.contains(wanted) ? .part : .none
    }

    /// A sentence about the choice of the newest transfer; nil if only one matches.
    var note: String? {
        guard ids.count > 1 else { return nil }
        let shown = TerminalText.escaped(name.contains("://") ? Redaction.url(name) : name)
        return "\(ids.count) transfers match '\(shown)'. The newest is chosen. The others: "
            + TaskRange.text(ids.dropLast())
    }

    var subject: NamedSubject? {
        ids.last.map { .task($0, note: note) }
    }
}
