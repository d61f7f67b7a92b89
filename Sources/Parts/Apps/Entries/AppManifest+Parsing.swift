package import NightshiftAPI

extension AppManifest {
    /// The prefix of all keys that Nightshift defines.
    static let keyPrefix = "X-Nightshift-"
    /// The allowed wake limits in seconds. The longest exceeds every reasonable wake, but still prevents a stuck app
    /// from keeping the machine busy.
    static let wakeLimits: ClosedRange<Double> = 1...600
    /// The allowed sizes of a log in bytes, from one memory page to the largest file that a person would open.
    static let logLimits: ClosedRange<Int64> = 4_096...1 << 30

    private enum Key {
        static let modes = keyPrefix + "BackgroundModes"
        static let wake = keyPrefix + "Wake"
        static let wakeLimit = keyPrefix + "WakeLimit"
        static let logLimit = keyPrefix + "LogLimit"
        static let snapshot = keyPrefix + "Snapshot"
        static let backgroundPolicy = keyPrefix + "BackgroundPolicy"
        static let fileLocks = keyPrefix + "FileLocks"
        static let fetchInterval = keyPrefix + "FetchInterval"
        static let taskIdentifiers = keyPrefix + "TaskIdentifiers"
        static let locationReason = keyPrefix + "LocationReason"
        static let all = [
            modes, wake, wakeLimit, logLimit, snapshot, backgroundPolicy, fileLocks, fetchInterval, taskIdentifiers,
            locationReason,
        ]
    }

    /// The keys of Nightshift whose values are shown to people. Like `Name`, they may have several locales.
    static let localizedKeys: Set = [Key.locationReason]

    /// Reads the desktop entry with the given path and text. An entry without keys of Nightshift is an app without
    /// background modes.
    ///
    /// `NoDisplay`, `OnlyShowIn` and similar keys concern menus and are ignored. An entry with `Hidden=true` counts as
    /// deleted; this throws ``EntryError/Code/hidden`` for it.
    package init(parsing text: String, id: AppID, path: String) throws(EntryError) {
        let entry = try DesktopEntry(parsing: text, file: id.rawValue + AppID.entrySuffix)
        try self.init(entry, id: id, path: path)
    }

    init(_ entry: DesktopEntry, id: AppID, path: String) throws(EntryError) {
        if try entry.boolean("Hidden") {
            throw EntryError(
                .hidden, file: entry.file, line: entry["Hidden"]?.line, key: "Hidden", "the entry is marked as deleted")
        }
        try Self.checkKind(of: entry)
        // Entries without keys of Nightshift, such as those of editors, are read only to identify the app of a process.
        if entry.speaksOfBackground, try entry.boolean("Terminal") {
            throw entry.error(
                "the service launches apps without a terminal; remove this key or all X-Nightshift keys",
                key: "Terminal",
                at: entry["Terminal"]?.line)
        }
        try Self.checkNames(in: entry)
        guard let (name, _) = try entry.string("Name") else { throw entry.error("is missing", key: "Name", at: nil) }
        guard let command = try entry.command("Exec") else {
            throw entry.error("is missing; the service needs the command that starts the app", key: "Exec", at: nil)
        }
        self.init(id: id, name: name, entry: path, command: command)
        directory = try entry.absolutePath("Path")
        modes = try Self.modes(in: entry)
        wakeCommand = try entry.command(Key.wake)
        wakeLimit =
            try Self.number(Key.wakeLimit, in: entry, range: Self.wakeLimits, "seconds from 1 to 600") ?? wakeLimit
        logLimit =
            try Self.number(Key.logLimit, in: entry, range: Self.logLimits, "bytes from 4096 to 1073741824") ?? logLimit
        snapshot = try entry.absolutePath(Key.snapshot)
        backgroundPolicy = try Self.backgroundPolicy(in: entry)
        fileLocks = try Self.fileLocks(in: entry) ?? fileLocks
        fetchInterval = try Self.fetchInterval(in: entry)
        taskIdentifiers = try Self.taskIdentifiers(in: entry)
        locationReason = try Self.locationReason(in: entry)
        icon = try entry.string("Icon").map(\.text).flatMap { $0.isEmpty ? nil : $0 }
        windowClass = try entry.string("StartupWMClass").map(\.text).flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func checkKind(of entry: DesktopEntry) throws(EntryError) {
        guard let (kind, line) = try entry.string("Type") else {
            throw entry.error("is missing; the type must be 'Application'", key: "Type", at: nil)
        }
        guard kind == "Application" else {
            throw entry.error("the type must be 'Application', not '\(kind)'", key: "Type", at: line)
        }
    }

    /// Throws for unknown keys with the prefix of Nightshift. Otherwise, a misspelt key would have no visible effect.
    private static func checkNames(in entry: DesktopEntry) throws(EntryError) {
        for key in entry.keys where key.name.lowercased().hasPrefix(keyPrefix.lowercased()) {
            guard Key.all.contains(key.name) else {
                throw entry.error(
                    "unknown key; the keys are \(Key.all.joined(separator: ", "))", key: key.name,
                    at: key.line)
            }
            guard key.group == DesktopEntry.mainGroup else {
                throw entry.error(
                    "this key belongs in the group [\(DesktopEntry.mainGroup)], not in [\(key.group)]", key: key.name,
                    at: key.line)
            }
        }
    }

    private static func modes(in entry: DesktopEntry) throws(EntryError) -> Set<BackgroundMode> {
        guard let (names, line) = try entry.list(Key.modes) else { return [] }
        var modes: Set<BackgroundMode> = []
        for name in names {
            guard let mode = BackgroundMode(rawValue: name) else {
                let known = BackgroundMode.allCases.map(\.rawValue).joined(separator: ", ")
                throw entry.error(
                    "'\(name)' is not a background mode; the modes are \(known)", key: Key.modes, at: line)
            }
            modes.insert(mode)
        }
        return modes
    }

    private static func backgroundPolicy(in entry: DesktopEntry) throws(EntryError) -> BackgroundPolicy? {
        guard let (text, line) = try entry.string(Key.backgroundPolicy) else { return nil }
        guard let policy = BackgroundPolicy(text) else {
            throw entry.error(
                "'\(text)' is not a policy; use contiguous or opportunistic, optionally with :SECONDS (10 to 3600)",
                key: Key.backgroundPolicy, at: line)
        }
        return policy
    }

    private static func fileLocks(in entry: DesktopEntry) throws(EntryError) -> FileLockPolicy? {
        guard let (text, line) = try entry.string(Key.fileLocks) else { return nil }
        guard let policy = FileLockPolicy(rawValue: text) else {
            let known = FileLockPolicy.allCases.map(\.rawValue).joined(separator: " or ")
            throw entry.error("'\(text)' is not valid; use \(known)", key: Key.fileLocks, at: line)
        }
        return policy
    }

    private static func fetchInterval(in entry: DesktopEntry) throws(EntryError) -> RefreshInterval? {
        guard let (text, line) = try entry.string(Key.fetchInterval) else { return nil }
        guard let interval = RefreshInterval(text) else {
            throw entry.error(
                "'\(text)' is not an interval; use minimum, never or seconds up to \(Int(saturating: RefreshInterval.longest))",
                key: Key.fetchInterval, at: line)
        }
        return interval
    }

    private static func taskIdentifiers(in entry: DesktopEntry) throws(EntryError) -> [String] {
        guard let (names, line) = try entry.list(Key.taskIdentifiers) else { return [] }
        var identifiers: [String] = []
        for name in names where !identifiers.contains(name) {
            if let objection = objection(toTaskIdentifier: name) {
                throw entry.error("'\(name)' \(objection)", key: Key.taskIdentifiers, at: line)
            }
            identifiers.append(name)
        }
        guard identifiers.count <= Limits.taskIdentifiers else {
            throw entry.error(
                "there are \(identifiers.count) identifiers; an entry may declare at most \(Limits.taskIdentifiers)",
                key: Key.taskIdentifiers, at: line)
        }
        return identifiers
    }

    private static func locationReason(in entry: DesktopEntry) throws(EntryError) -> String? {
        guard let (text, line) = try entry.string(Key.locationReason) else { return nil }
        guard text.utf8.count <= Limits.locationReasonLength else {
            throw entry.error(
                "the reason has \(text.utf8.count) bytes; it may have at most \(Limits.locationReasonLength)",
                key: Key.locationReason, at: line)
        }
        return text
    }

    /// Returns what is wrong with a task identifier; nil if it is valid. Spaces and control characters are refused
    /// because programs read identifiers one per line.
    private static func objection(toTaskIdentifier name: String) -> String? {
        guard (1...Limits.taskIdentifierLength).contains(name.utf8.count) else {
            return "does not have 1 to \(Limits.taskIdentifierLength) bytes"
        }
        guard name.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f }) else {
            return "has a space or a control character"
        }
        let stem = name.hasSuffix(".*") ? name.dropLast(2) : name[...]
        return stem.isEmpty || stem.contains("*") ? "may have '*' only as the last of several parts" : nil
    }

    private static func number<Number: LosslessStringConvertible & Comparable>(
        _ key: String, in entry: DesktopEntry, range: ClosedRange<Number>, _ allowed: String
    ) throws(EntryError) -> Number? {
        guard let value = entry[key] else { return nil }
        // Only digits and a dot are allowed. The initialisers of the number types would also accept 'inf', '0x1p3' and
        // '+7'.
        guard value.text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
            let number = Number(value.text), range.contains(number)
        else {
            throw entry.error(
                "'\(value.text)' is not a number of \(allowed)", key: key, at: value.line)
        }
        return number
    }
}

extension DesktopEntry {
    /// Whether the entry has a key of Nightshift.
    var speaksOfBackground: Bool {
        keys.contains { $0.name.lowercased().hasPrefix(AppManifest.keyPrefix.lowercased()) }
    }

    /// Returns the program and arguments of a key with the format of `Exec`.
    func command(_ key: String) throws(EntryError) -> [String]? {
        guard let (text, line) = try string(key) else { return nil }
        do {
            return try ExecLine(parsing: text).words
        } catch {
            throw self.error(error.message, key: key, at: line)
        }
    }
}
