import CDispatch  // for stat(2), which the compiler attributes to CDispatch wherever that module is loaded
import Glibc
import Mounts
import NightshiftAPI

/// A cache of the values of installed entries that identify windows. An unchanged entry is not read again.
struct FrontEntries {
    private var known: [String: (version: Version, entry: FrontEntry?)] = [:]

    /// The attributes of a file that change with its content.
    private struct Version: Equatable, Sendable {
        let file: ExecutableIdentity
        let size: Int64
        let seconds: Int
        let nanoseconds: Int

        init?(of path: String) {
            var information = stat()
            guard let file = ExecutableIdentity(of: path), stat(path, &information) == 0 else { return nil }
            self.file = file
            size = Int64(information.st_size)
            seconds = information.st_mtim.tv_sec
            nanoseconds = information.st_mtim.tv_nsec
        }
    }

    /// Returns the values of the current entries. Blocks on the disk.
    mutating func current(in directories: EntryDirectories) -> [FrontEntry] {
        var latest: [String: (version: Version, entry: FrontEntry?)] = [:]
        for (id, path) in directories.entries() {
            guard let version = directories.fileSystems.answer(path, { Version(of: path) }) ?? nil else { continue }
            if let old = known[path], old.version == version, old.entry == nil || old.entry?.id == id {
                latest[path] = old
            } else {
                latest[path] = (version, directories.frontEntry(of: id, at: path))
            }
        }
        known = latest
        return latest.values.compactMap(\.entry)
    }
}

extension EntryDirectories {
    /// Returns the values of an entry that identify windows; nil if the file is not an app's entry.
    fileprivate func frontEntry(of id: AppID, at path: String) -> FrontEntry? {
        guard let text = try? text(ofEntryAt: path),
            let entry = try? DesktopEntry(parsing: text, file: path),
            let manifest = try? AppManifest(entry, id: id, path: path)
        else { return nil }
        let program = search.path(of: manifest.command[0])
            .flatMap { search.isInterpreter($0) ? nil : search.resolved($0) }
        return FrontEntry(
            id: id, windowClass: manifest.windowClass, program: program, speaksOfBackground: entry.speaksOfBackground)
    }
}
