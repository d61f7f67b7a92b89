import CNightshift
import Foundation
import Glibc
package import NightshiftAPI

extension EntryDirectories {
    /// Checks the entry at `path` and copies it to the user's own directory. The copy replaces an entry of the same
    /// name.
    ///
    /// When this returns, the complete copy is on disk.
    package func install(_ path: String) throws(EntryError) -> AppManifest {
        let file = String(path.split(separator: "/").last ?? "")
        guard path.hasPrefix("/") else { throw EntryError(.name, file: path, "give its absolute path") }
        guard file.hasSuffix(AppID.entrySuffix) else {
            throw EntryError(.name, file: path, "the name of a desktop entry must end with '\(AppID.entrySuffix)'")
        }
        let id = AppID(rawValue: String(file.dropLast(AppID.entrySuffix.count)))
        if let objection = AppID.objection(toName: id.rawValue) {
            throw EntryError(.name, file: path, objection)
        }
        let text = try text(ofEntryAt: path)
        let target = "\(own)/\(file)"
        let entry = try DesktopEntry(parsing: text, file: file)
        let manifest = try AppManifest(entry, id: id, path: target)
        try checkPresence(entry)
        try Self.write(text, to: target, in: own)
        return manifest
    }

    /// An entry that was removed from the user's own directory. Its file still exists there under a hidden name.
    package struct Removed: Sendable {
        fileprivate var path: String
        fileprivate var hidden: String
    }

    /// Deletes the entry from the user's own directory.
    package func remove(_ id: AppID) throws(EntryError) { discard(try take(id)) }

    /// Removes the entry from the user's own directory. Callers then discard it or put it back.
    package func take(_ id: AppID) throws(EntryError) -> Removed {
        guard let path = path(of: id) else {
            throw EntryError(.notFound, file: id.rawValue + AppID.entrySuffix, "the entry does not exist")
        }
        guard path.hasPrefix(own + "/") else {
            throw EntryError(
                .elsewhere, file: id.rawValue + AppID.entrySuffix,
                "you cannot remove it: it was installed for all users at \(path)")
        }
        let folder = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
        let removed = Removed(path: path, hidden: Self.hiddenName(in: folder))
        guard rename(path, removed.hidden) == 0 else { throw Self.failure(of: path, "the file cannot be removed") }
        do {
            try Self.syncDirectory(folder)
        } catch {
            putBack(removed)
            throw error
        }
        return removed
    }

    package func discard(_ removed: Removed) { unlink(removed.hidden) }

    /// Restores a removed entry, unless another entry was installed in the meantime.
    package func putBack(_ removed: Removed) {
        if nightshift_rename_exclusive(removed.hidden, removed.path) != 0, errno == EEXIST { discard(removed) }
    }

    /// Deletes the files that interrupted installations and removals have left in the user's own directory.
    ///
    /// Callers must not install or remove an entry at the same time.
    package func removeRemains() {
        guard let names = FileManager.default.enumerator(atPath: own) else { return }
        for case let path as String in names {
            if names.level > Self.deepestFolder { names.skipDescendants() }
            let name = path.split(separator: "/").last ?? ""
            guard name.hasPrefix(Self.hiddenPrefix),
                UUID(uuidString: String(name.dropFirst(Self.hiddenPrefix.count))) != nil
            else { continue }
            unlink("\(own)/\(path)")
        }
    }

    private static let hiddenPrefix = ".nightshift-"

    private static func hiddenName(in folder: String) -> String {
        "\(folder)/\(hiddenPrefix)\(UUID().uuidString)"
    }

    private static func write(_ text: String, to path: String, in directory: String) throws(EntryError) {
        do {
            // The XDG Base Directory Specification requires this mode for new folders.
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw EntryError(
                .inputOutput, file: directory, "the directory cannot be created: \(error.systemReason)")
        }
        // The name is hidden, so that the draft is not read as an entry.
        let draft = hiddenName(in: directory)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(of: directory, "this directory is not writable") }
        defer { close(descriptor) }
        guard writeAll(text, to: descriptor), fchmod(descriptor, 0o644) == 0, fsync(descriptor) == 0,
            rename(draft, path) == 0
        else {
            let failure = failure(of: path, "the file cannot be written")
            unlink(draft)
            throw failure
        }
        try syncDirectory(directory)
    }

    private static func writeAll(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }

    private static func syncDirectory(_ path: String) throws(EntryError) {
        guard nightshift_sync_directory(path) == 0 else {
            throw failure(of: path, "the directory cannot be synced to disk")
        }
    }

    private static func failure(of path: String, _ what: String) -> EntryError {
        EntryError(.inputOutput, file: path, "\(what): \(String(cString: strerror(errno)))")
    }
}
