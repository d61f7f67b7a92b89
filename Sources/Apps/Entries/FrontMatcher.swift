package import NightshiftAPI

/// What an installed entry says of its app's windows.
package struct FrontEntry: Hashable, Sendable {
    package var id: AppID
    /// `StartupWMClass`.
    package var windowClass: String?
    /// The file that `Exec` starts, symbolic links followed; nil for an interpreter, which is nobody's program.
    package var program: String?
    /// Whether it has keys of ours.
    package var speaksOfBackground: Bool

    package init(id: AppID, windowClass: String? = nil, program: String? = nil, speaksOfBackground: Bool = false) {
        self.id = id
        self.windowClass = windowClass
        self.program = program
        self.speaksOfBackground = speaksOfBackground
    }
}

/// What is known of the process that a window is of.
package struct FrontProcess: Hashable, Sendable {
    /// The app whose process it is.
    package var app: AppID?
    /// The app that has started it: it is in that one's session or cgroup, or descends from its process.
    package var starter: AppID?
    /// The file that it runs.
    package var program: String?

    package init(app: AppID? = nil, starter: AppID? = nil, program: String? = nil) {
        self.app = app
        self.starter = starter
        self.program = program
    }
}

/// Tells which app a window is of.
///
/// Pure. What is certain comes first: the process of a known app, then names that are exactly those of an entry, then names
/// that differ in case, as those of X11 do; last the process's descent and its program. Where several entries fit equally
/// well, those with keys of ours come before others, and of several such it is nobody's.
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

    /// The entry that the first of the names to fit any fits.
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

    /// Classes are written with capitals and spaces where the names of entries have neither.
    private static func folded(_ name: String) -> String {
        name.lowercased().replacing(" ", with: "-")
    }
}
