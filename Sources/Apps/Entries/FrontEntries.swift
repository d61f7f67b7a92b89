import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Glibc
import Mounts
import NightshiftAPI

/// What the installed entries say of windows. An entry that has not changed is not read again.
struct FrontEntries {
    private var known: [String: (version: Version, entry: FrontEntry?)] = [:]

    /// What changes with a file's content.
    private struct Version: Equatable, Sendable {
        let file: FileIdentity
        let size: Int64
        let seconds: Int
        let nanoseconds: Int

        init?(of path: String) {
            var information = stat()
            guard let file = FileIdentity(of: path), stat(path, &information) == 0 else { return nil }
            self.file = file
            size = Int64(information.st_size)
            seconds = information.st_mtim.tv_sec
            nanoseconds = information.st_mtim.tv_nsec
        }
    }

    /// The entries as they are now; blocks on the disk.
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
    /// Nil for what is no entry of an app.
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
