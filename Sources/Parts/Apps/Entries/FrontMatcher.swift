package import NightshiftAPI

/// The values of an installed entry that identify its app's windows.
package struct FrontEntry: Hashable, Sendable {
    package var id: AppID
    /// The value of `StartupWMClass`.
    package var windowClass: String?
    /// The file that `Exec` starts, after resolving symbolic links; nil for an interpreter, which does not identify an
    /// app.
    package var program: String?
    /// Whether the entry has keys of Nightshift.
    package var speaksOfBackground: Bool

    package init(id: AppID, windowClass: String? = nil, program: String? = nil, speaksOfBackground: Bool = false) {
        self.id = id
        self.windowClass = windowClass
        self.program = program
        self.speaksOfBackground = speaksOfBackground
    }
}

/// The information that the service has about the process of a window.
package struct FrontProcess: Hashable, Sendable {
    /// The app that the process belongs to.
    package var app: AppID?
    /// The app that started the process. The process has the app's session or cgroup, or descends from the app's
    /// process.
    package var starter: AppID?
    /// The executable file of the process.
    package var program: String?

    package init(app: AppID? = nil, starter: AppID? = nil, program: String? = nil) {
        self.app = app
        self.starter = starter
        self.program = program
    }
}

/// A pure function that finds the app of a window.
///
/// It tries the most certain matches first. These are, in order: the process of a known app, a name equal to that of an
/// entry, and a name that differs only in case, as with X11. The last matches are the ancestors of the process and its
/// program. Among equal matches, entries with keys of Nightshift come before others. If several such entries match, the
/// result is nil.
package struct FrontMatcher: Sendable {
    private let entries: [FrontEntry]

    package init(entries: [FrontEntry]) {
        self.entries = entries
    }

    package func app(of application: FrontApplication, process: FrontProcess = FrontProcess()) -> AppID? {
        if let app = process.app { return app }
        let names = ([application.applicationID].compactMap(\.self) + application.windowClasses).filter { !$0.isEmpty }
        for name in names {
            if let entry = entries.first(where: { $0.id.rawValue == name }) { return entry.id }
        }
        return first(names) { entry, name in entry.windowClass == name }
            ?? first(names.map(Self.folded)) { entry, name in Self.folded(entry.id.rawValue) == name }
            ?? first(names.map(Self.folded)) { entry, name in entry.windowClass.map(Self.folded) == name }
            ?? process.starter
            ?? process.program.flatMap { program in only(entries.filter { $0.program == program }) }
    }

    /// Returns the app of the first name that matches an entry.
    private func first(_ names: [String], _ fits: (FrontEntry, String) -> Bool) -> AppID? {
        for name in names {
            let candidates = entries.filter { fits($0, name) }
            if !candidates.isEmpty { return only(candidates) }
        }
        return nil
    }

    private func only(_ candidates: [FrontEntry]) -> AppID? {
        let speaking = candidates.filter(\.speaksOfBackground)
        let left = speaking.isEmpty ? candidates : speaking
        return left.count == 1 ? left.first?.id : nil
    }

    /// Lowercases a name and replaces its spaces. Window classes may have capitals and spaces where the names of
    /// entries do not.
    private static func folded(_ name: String) -> String {
        name.lowercased().replacing(" ", with: "-")
    }
}
