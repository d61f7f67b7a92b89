import CDispatch  // for stat(2), which the compiler attributes to CDispatch wherever that module is loaded
import Foundation
import Glibc
package import Mounts
package import NightshiftAPI

/// The directories of desktop entries: the user's own directory, then those of the system.
///
/// According to the XDG Base Directory Specification and the Desktop Menu Specification, an entry in an earlier
/// directory overrides all entries of the same id in later ones. Every call reads the directories again. Calls block on
/// the disk, but wait at most one second for a file system that does not respond. The entries of such a file system are
/// left out.
package struct EntryDirectories: Sendable {
    /// The directory into which entries are installed.
    package let own: String
    /// The directories of the system, in order of precedence.
    package let shared: [String]
    /// The search for the programs of entries in `PATH`.
    let search: ExecutableSearch
    let fileSystems: FileSystems

    /// The size limit of an entry in bytes. Larger files are refused.
    static let largestEntry = 1 << 20
    /// The maximum depth of nested folders in which the service searches for entries.
    static let deepestFolder = 8

    /// Creates the directories of a service. If `NIGHTSHIFT_HOME` is set, only the user's own directory is used,
    /// because such a service shares no entries with the desktop.
    package init(paths: ServicePaths, environment: [String: String], fileSystems: FileSystems? = nil) {
        let fileSystems = fileSystems ?? FileSystems(home: paths.state.path(percentEncoded: false))
        self.fileSystems = fileSystems
        own = Self.plain(paths.applications.path(percentEncoded: false))
        search = ExecutableSearch(environment: environment, fileSystems: fileSystems)
        guard environment["NIGHTSHIFT_HOME", default: ""].isEmpty else {
            shared = []
            return
        }
        let value = environment["XDG_DATA_DIRS"].flatMap { $0.isEmpty ? nil : $0 } ?? "/usr/local/share:/usr/share"
        // The specification requires that relative paths are ignored.
        shared = value.split(separator: ":").filter { $0.hasPrefix("/") }.map {
            Self.plain(String($0)) + "/applications"
        }
    }

    /// Returns the manifest from the entry with this id; nil if the entry does not exist or is marked as deleted.
    package func find(_ id: AppID) throws(EntryError) -> AppManifest? {
        guard let path = path(of: id) else { return nil }
        let entry = try DesktopEntry(parsing: text(ofEntryAt: path), file: id.rawValue + AppID.entrySuffix)
        return try manifest(of: id, from: entry, at: path)
    }

    /// Returns the path of the entry that has precedence for this id.
    package func path(of id: AppID) -> String? {
        guard AppID.objection(toName: id.rawValue) == nil else { return nil }
        for directory in [own] + shared {
            let found = fileSystems.answer(directory) { Self.path(of: id.rawValue[...], in: directory) }
            if let path = found ?? nil { return path }
        }
        return nil
    }

    /// Returns every entry that has keys of Nightshift, in the order of the ids. Faulty entries are included as errors.
    ///
    /// A desktop has hundreds of other entries. These are apps as well, and ``find(_:)`` returns them.
    package func all() -> [Result<AppManifest, EntryError>] {
        var results: [Result<AppManifest, EntryError>] = []
        for (id, path) in entries().sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            do {
                if let manifest = try backgroundManifest(of: id, at: path) { results.append(.success(manifest)) }
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    /// Returns the app whose `Exec` starts the program at `path`; nil if no app or more than one app does.
    ///
    /// An interpreter does not identify an app. An entry with keys of Nightshift takes precedence over an entry without
    /// them.
    package func app(ofExecutable path: String) -> AppManifest? {
        guard let file = search.identity(of: path), !search.isInterpreter(path) else { return nil }
        var manifests: [(manifest: AppManifest, speaks: Bool)] = []
        for (id, entryPath) in entries() {
            guard let text = try? text(ofEntryAt: entryPath),
                let entry = try? DesktopEntry(parsing: text, file: entryPath),
                let manifest = try? AppManifest(entry, id: id, path: entryPath),
                let program = search.path(of: manifest.command[0]), !search.isInterpreter(program),
                search.identity(of: program) == file
            else { continue }
            manifests.append((manifest, entry.speaksOfBackground))
        }
        let speaking = manifests.filter(\.speaks)
        let candidates = speaking.isEmpty ? manifests : speaking
        return candidates.count == 1 ? candidates.first?.manifest : nil
    }

    /// Returns the manifest of an entry; nil for an entry without keys of Nightshift. Such entries are not checked, and
    /// may be unreadable.
    private func backgroundManifest(of id: AppID, at path: String) throws(EntryError) -> AppManifest? {
        guard let text = try? text(ofEntryAt: path),
            text.range(of: AppManifest.keyPrefix, options: .caseInsensitive) != nil
        else { return nil }
        let entry = try DesktopEntry(parsing: text, file: id.rawValue + AppID.entrySuffix)
        return entry.speaksOfBackground ? try manifest(of: id, from: entry, at: path) : nil
    }

    private func manifest(of id: AppID, from entry: DesktopEntry, at path: String) throws(EntryError) -> AppManifest? {
        do {
            let manifest = try AppManifest(entry, id: id, path: path)
            try checkPresence(entry)
            return manifest
        } catch {
            if error.code == .hidden { return nil }
            throw error
        }
    }

    /// Throws if the program in `TryExec` is missing. The specification requires that such an entry is ignored.
    func checkPresence(_ entry: DesktopEntry) throws(EntryError) {
        guard entry.speaksOfBackground, let (program, line) = try entry.string("TryExec"), !program.isEmpty,
            search.find(program) == .nothing
        else { return }
        throw entry.error(
            "the program '\(program)' in TryExec does not exist or cannot be executed, so the entry is ignored",
            key: "TryExec", at: line)
    }

    /// Returns every id, with the path of the entry that has precedence for it.
    func entries() -> [(id: AppID, path: String)] {
        var found: [AppID: String] = [:]
        for directory in [own] + shared {
            let here = fileSystems.answer(directory) {
                var here: [AppID: String] = [:]
                Self.collect(directory, below: "", depth: 0, into: &here)
                return here
            }
            found.merge(here ?? [:]) { earlier, _ in earlier }
        }
        return found.map { ($0.key, $0.value) }
    }

    private static func collect(_ root: String, below prefix: String, depth: Int, into found: inout [AppID: String]) {
        guard depth <= deepestFolder,
            let names = try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(prefix)")
        else { return }
        for name in names.sorted() where !name.hasPrefix(".") {
            let path = prefix + name
            if let id = AppID.ofEntry(at: path) {
                // If two files have the same id, the file in the outer folder has precedence, as in ``path(of:)``.
                if found[id] == nil || depth == 0 { found[id] = "\(root)/\(path)" }
            } else {
                if isFolder("\(root)/\(path)") {
                    collect(root, below: path + "/", depth: depth + 1, into: &found)
                }
            }
        }
    }

    /// Returns the path of the entry with this id in a directory. A dash in an id may stand for a folder, so each
    /// existing folder is searched.
    private static func path(of id: Substring, in directory: String) -> String? {
        let whole = "\(directory)/\(id)\(AppID.entrySuffix)"
        if access(whole, F_OK) == 0 { return whole }
        for dash in id.indices where id[dash] == "-" && dash != id.startIndex {
            let folder = "\(directory)/\(id[..<dash])"
            guard isFolder(folder) else { continue }
            if let path = path(of: id[id.index(after: dash)...], in: folder) { return path }
        }
        return nil
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// Returns the text of an entry. Throws unless the entry is a regular file within the size limit.
    func text(ofEntryAt path: String) throws(EntryError) -> String {
        let text = fileSystems.answer(path) { () -> Result<String, EntryError> in
            do throws(EntryError) {
                return .success(try Self.read(path))
            } catch {
                return .failure(error)
            }
        }
        guard let text else {
            throw EntryError(.inputOutput, file: path, "the file cannot be read: its file system does not respond")
        }
        return try text.get()
    }

    private static func read(_ path: String) throws(EntryError) -> String {
        // Without O_NONBLOCK, opening a pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            let reason = String(cString: strerror(code))
            throw EntryError(
                code == ENOENT ? .notFound : .inputOutput, file: path, "the file cannot be read: \(reason)")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            information.st_size <= Self.largestEntry, let data = try? handle.read(upToCount: Self.largestEntry)
        else {
            if information.st_mode & S_IFMT == S_IFREG, information.st_size == 0 { return "" }
            throw EntryError(
                .inputOutput, file: path, "this is not a regular file of at most \(Self.largestEntry) bytes")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw EntryError(.syntax, file: path, "the file is not UTF-8 text")
        }
        return text
    }

    private static func plain(_ path: String) -> String {
        path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
