import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
import Glibc
package import Mounts
package import NightshiftAPI

/// Where desktop entries are: the user's own directory, then those of the system.
///
/// XDG Base Directory Specification and Desktop Menu Specification: an entry in an earlier directory stands for all of
/// the same id in later ones. Everything is read again with each call. Calls block on the disk, but at most a second for a file system
/// that does not answer: its entries are left out.
package struct EntryDirectories: Sendable {
    /// Where entries are installed.
    package let own: String
    /// Where others have installed entries, in the order in which they count.
    package let shared: [String]
    /// The `PATH` in which the programs of entries are looked up.
    let search: ExecutableSearch
    let fileSystems: FileSystems

    /// Larger files are no entries.
    static let largestEntry = 1 << 20
    /// Folders within folders that are looked into.
    static let deepestFolder = 8

    /// With `NIGHTSHIFT_HOME` there is only the own directory: such a service shares nothing with the desktop.
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
        // The specification wants relative paths ignored.
        shared = value.split(separator: ":").filter { $0.hasPrefix("/") }.map {
            Self.plain(String($0)) + "/applications"
        }
    }

    /// What the entry of this id says; nil where there is none, or it is marked as deleted.
    package func find(_ id: AppID) throws(EntryError) -> AppManifest? {
        guard let path = path(of: id) else { return nil }
        let entry = try DesktopEntry(parsing: text(ofEntryAt: path), file: id.rawValue + AppID.entrySuffix)
        return try manifest(of: id, from: entry, at: path)
    }

    /// The path of the entry that counts for this id.
    package func path(of id: AppID) -> String? {
        guard AppID.objection(toName: id.rawValue) == nil else { return nil }
        for directory in [own] + shared {
            let found = fileSystems.answer(directory) { Self.path(of: id.rawValue[...], in: directory) }
            if let path = found ?? nil { return path }
        }
        return nil
    }

    /// Every entry that speaks of the background, or tries to, in the order of the ids.
    ///
    /// A desktop has hundreds of others; they are apps as well, and ``find(_:)`` finds them.
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

    /// The app whose `Exec` starts the program at `path`; nil where there is none, or more than one.
    ///
    /// An interpreter is nobody's program. An entry that speaks of the background comes before those that do not.
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

    /// Nil for an app without keys of ours. Entries of others are not ours to judge, nor whether they can be read.
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

    /// Throws where the program is missing that an entry names to be ignored without (`TryExec`).
    func checkPresence(_ entry: DesktopEntry) throws(EntryError) {
        guard entry.speaksOfBackground, let (program, line) = try entry.string("TryExec"), !program.isEmpty,
            search.find(program) == .nothing
        else { return }
        throw entry.error(
            "the program '\(program)' is not there or cannot be executed, and the entry counts only with it",
            key: "TryExec", at: line)
    }

    /// Every id with the entry that counts for it.
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
                // Where two files make one id, the one in the outer folder counts, as with ``path(of:)``.
                if found[id] == nil || depth == 0 { found[id] = "\(root)/\(path)" }
            } else {
                if isFolder("\(root)/\(path)") {
                    collect(root, below: path + "/", depth: depth + 1, into: &found)
                }
            }
        }
    }

    /// A dash in an id may stand for a folder: each folder that is there is looked into.
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

    /// The text of a regular file of a sensible size.
    func text(ofEntryAt path: String) throws(EntryError) -> String {
        let text = fileSystems.answer(path) { () -> Result<String, EntryError> in
            do throws(EntryError) {
                return .success(try Self.read(path))
            } catch {
                return .failure(error)
            }
        }
        guard let text else {
            throw EntryError(.inputOutput, file: path, "it cannot be read: its file system does not answer")
        }
        return try text.get()
    }

    private static func read(_ path: String) throws(EntryError) -> String {
        // Not blocking: a pipe of this name has no writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            let reason = String(cString: strerror(code))
            throw EntryError(code == ENOENT ? .notFound : .inputOutput, file: path, "it cannot be read: \(reason)")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            information.st_size <= Self.largestEntry, let data = try? handle.read(upToCount: Self.largestEntry)
        else {
            if information.st_mode & S_IFMT == S_IFREG, information.st_size == 0 { return "" }
            throw EntryError(.inputOutput, file: path, "it is not a file of at most \(Self.largestEntry) bytes")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw EntryError(.syntax, file: path, "it is not text in UTF-8")
        }
        return text
    }

    private static func plain(_ path: String) -> String {
        path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
