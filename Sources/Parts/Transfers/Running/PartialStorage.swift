import CDispatch  // needed for stat(2), which the compiler attributes to this module
import CNightshift
import Foundation
import Glibc
import NightshiftAPI
import Store

/// The partial files of downloads.
///
/// A task has two paths for its bytes and uses them in turn. The bytes of a new version go to the path that is not in
/// the store. After a crash before the commit, the old bytes and their validators thus still match. The next new
/// version removes a file that such a crash left at the other path.
///
/// Other users may be able to write to the folder of a destination. They cannot predict the names there, so they cannot
/// create the file first. Each file is created exclusively, and the row contains its inode: ``open(_:bootID:)`` accepts
/// no other file.
struct PartialStorage: Sendable {
    /// The service's own folder.
    private let folder: String
    private let names: PartialNames

    init(paths: ServicePaths) {
        folder = paths.partials.path
        names = PartialNames(folder: paths.state.path)
    }

    /// Creates the service's own folder again if it was removed while the service runs.
    func restoreFolder() { mkdir(folder, 0o700) }

    /// Returns the path for the bytes of a task's next version.
    func freshPath(for record: TaskRecord) -> String {
        let (folder, name) = naming(record)
        let first = "\(folder)/\(name(record.id, "a"))"
        return record.partial?.path == first ? "\(folder)/\(name(record.id, "b"))" : first
    }

    /// Removes all unpublished bytes of a task.
    func discard(_ record: TaskRecord) {
        if let path = record.partial?.path { unlink(path) }
        discardRest(record)
    }

    /// Removes the files at the paths of a task, except the one that its record names.
    func discardRest(_ record: TaskRecord) {
        for path in leftovers(of: record) { unlink(path) }
    }

    /// Returns the paths of a task that its record does not name. A file need not exist there.
    func leftovers(of record: TaskRecord) -> [String] {
        let (folder, name) = naming(record)
        let places = ["a", "b"].map { "\(folder)/\(name(record.id, $0))" }
        return (places + [copyPath(for: record), keptCopyPath(for: record)].compactMap(\.self))
            .filter { $0 != record.partial?.path }
    }

    /// Returns the path for a copy of the file. The copy is used if the file cannot be renamed to its destination.
    func copyPath(for record: TaskRecord) -> String? {
        record.request.destination.map { copyPath(for: record, in: $0.directory) }
    }

    /// Returns the path for a copy of the file in the folder of a link's target, if the file is written through a link.
    func copyPath(for record: TaskRecord, in folder: String) -> String {
        "\(folder)/\(names.hidden(record.id, "copy"))"
    }

    /// Returns the path for a copy of the file in the service's own folder, if the file cannot go to its destination.
    func keptCopyPath(for record: TaskRecord) -> String {
        "\(folder)/\(names.own(record.id, "copy"))"
    }

    /// Truncates a file with gaps to its contiguous beginning. Returns false after a failure.
    static func cut(_ descriptor: Int32, to count: Int64) -> Bool { ftruncate(descriptor, off_t(count)) == 0 }

    /// Opens the partial file and returns the bytes that can be trusted.
    ///
    /// During the boot in which the bytes were written, the file's length counts, because the page cache survives a
    /// crash of the service. After a reboot, only synced bytes count. The bytes after them are cut off, so that they
    /// are not trusted later in the new boot. Bytes that were appended since the last orderly end of an exchange do not
    /// count either.
    func open(_ partial: PartialFile, bootID: String) -> Opening {
        guard !nightshift_lacks_descriptors() else { return .trouble(DiskTrouble.opening(errno)) }
        let descriptor = Glibc.open(partial.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            return switch errno {
            case ENOENT, ENOTDIR: .lost("the partial file is gone")
            case ELOOP, ENXIO, EISDIR: .lost("the partial file was replaced by something that is not a regular file")
            case EACCES, EPERM: .lost("the service is not permitted to open the partial file")
            default: .trouble(DiskTrouble.opening(errno))
            }
        }
        let found = examine(partial, descriptor, isSameBoot: partial.bootID == bootID)
        if found.file == nil { close(descriptor) }
        return found
    }

    /// Creates the file for a new version's bytes, and reserves their space if the file system supports that.
    ///
    /// A file that a crash left under the name is removed. If it cannot be removed because it belongs to another user,
    /// the new file gets another name.
    ///
    /// - Returns: the file, or the failure.
    static func create(_ path: String, total: Int64?) -> Result<CreatedFile, TransferFailure> {
        guard !nightshift_lacks_descriptors() else { return .failure(DiskTrouble.failure(errno, "create \(path)")) }
        var path = path
        var descriptor = createExclusively(path)
        if descriptor < 0, errno == EEXIST {
            unlink(path)
            descriptor = createExclusively(path)
        }
        if descriptor < 0, errno == EEXIST {
            path = "\((path as NSString).deletingPathExtension)-\(PartialNames.token()).part"
            descriptor = createExclusively(path)
        }
        guard descriptor >= 0 else { return .failure(DiskTrouble.failure(errno, "create \(path)")) }
        guard let standing = FileStanding(descriptor: descriptor) else {
            let failure = DiskTrouble.failure(errno, "look at \(path)")
            close(descriptor)
            unlink(path)
            return .failure(failure)
        }
        if let total, let failure = reserve(descriptor, from: 0, to: total) {
            close(descriptor)
            unlink(path)
            return .failure(failure)
        }
        return .success(
            CreatedFile(
                descriptor: descriptor, path: path, inode: standing.inode, device: standing.device,
                owner: standing.foreignOwner))
    }

    private static func createExclusively(_ path: String) -> Int32 {
        Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }

    /// Returns whether a file that was written sequentially has holes. This happens if another process truncates the
    /// file and writing continues after that point. The check works only on file systems that never create holes
    /// themselves.
    static func hasHoles(_ descriptor: Int32, size: Int64) -> Bool {
        guard size > 0, keepsEveryByte.contains(nightshift_filesystem_type(descriptor)) else { return false }
        let hole = lseek(descriptor, 0, seekHole)
        return hole >= 0 && Int64(hole) < size
    }

    /// The constant `SEEK_HOLE` of lseek(2), which Glibc's module lacks.
    private static let seekHole: Int32 = 4

    /// The magic numbers of ext2 to ext4, xfs and tmpfs in linux/magic.h.
    private static let keepsEveryByte: Set<Int64> = [0xef53, 0x5846_5342, 0x0102_1994]

    /// Reserves space so that the file can grow to `end`; returns nil on success.
    static func reserve(_ descriptor: Int32, from start: Int64, to end: Int64) -> TransferFailure? {
        guard end > start else { return nil }
        // The free space is read first, because a failed reservation may still have taken all of it.
        let free = freeSpace(descriptor)
        if end - start >= reservedFrom, !reservationIsPointless.contains(nightshift_filesystem_type(descriptor)) {
            if nightshift_reserve(descriptor, start, end - start) == 0 { return nil }
            if errno == EFBIG {
                return FileSizeLimit.failure(end: end, limit: FileSizeLimit.current)
            }
            // If the reservation fails for another reason, writing may still work.
            guard errno == ENOSPC || errno == EDQUOT else { return nil }
            return DiskTrouble.noSpace(needed: end - start, free: free ?? 0)
        }
        guard let free else { return nil }
        return free < end - start ? DiskTrouble.noSpace(needed: end - start, free: free) : nil
    }

    /// Returns the number of bytes that this user can still write to the file system of `path` or of its nearest
    /// existing ancestor.
    static func freeSpace(at path: String) -> Int64? {
        var information = statvfs()
        var path = path
        while statvfs(path, &information) != 0 {
            guard errno == ENOENT, path != "/" else { return nil }
            path = (path as NSString).deletingLastPathComponent
        }
        return free(information)
    }

    /// Returns the files in the service's own folder, each with the task that it belongs to.
    func ownFiles() -> [(path: String, task: TaskID)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { name in
            guard let number = name.split(separator: ".").first.flatMap({ Int64($0) }) else { return nil }
            return ("\(folder)/\(name)", TaskID(number))
        }
    }

    /// Returns the folder and the naming scheme for a task's two paths. If the destination is on the service's file
    /// system, the folder is the service's own. Otherwise it is the folder of the destination, with hidden names, so
    /// that the finished file only has to be renamed.
    private func naming(_ record: TaskRecord) -> (folder: String, name: (TaskID, String) -> String) {
        if let directory = record.request.destination?.directory, isForeign(directory) {
            return (directory, names.hidden)
        }
        return (folder, names.own)
    }

    private func isForeign(_ directory: String) -> Bool {
        var there = stat()
        var here = stat()
        guard stat(directory, &there) == 0, stat(folder, &here) == 0 else { return false }
        return there.st_dev != here.st_dev
    }

    /// The smallest size in bytes for which a reservation saves more than it costs.
    private static let reservedFrom: Int64 = 1 << 20
    /// The types of file systems on which a reservation does more harm than good. tmpfs would have to touch every page
    /// twice, and btrfs cannot compress reserved space.
    private static let reservationIsPointless: Set<Int64> = [0x0102_1994, 0x9123_683e]

    private static func freeSpace(_ descriptor: Int32) -> Int64? {
        var information = statvfs()
        return fstatvfs(descriptor, &information) == 0 ? free(information) : nil
    }

    private static func free(_ information: statvfs) -> Int64 {
        // A network file system may report any number.
        Int64(saturating: Double(information.f_bavail) * Double(information.f_frsize))
    }
}

/// The result of opening a partial file.
enum Opening {
    case opened(OpenPartial)
    /// The file is gone, or is not the one that was written. The text is a clause that follows "because".
    case lost(String)
    /// The file cannot be checked now.
    case trouble(TransferFailure)

    var file: OpenPartial? {
        if case .opened(let file) = self { file } else { nil }
    }
}

/// A newly created file.
struct CreatedFile: Sendable {
    var descriptor: Int32
    /// The path of the file. It differs from the requested path if that was taken.
    var path: String
    var inode: UInt64
    var device: UInt64
    /// The file's ``FileStanding/foreignOwner``.
    var owner: UInt32?
}

/// The trusted bytes of a download on disk.
struct OpenPartial {
    var descriptor: Int32
    /// The number of bytes that can be trusted.
    var count: Int64
    /// The disk space in bytes that the file already uses, including reserved space.
    var allocated: Int64
    /// The map of the bytes, if some may follow gaps.
    var segments: SegmentMap?
}

/// Messages for disk errors.
enum DiskTrouble {
    static func failure(_ number: Int32, _ action: String) -> TransferFailure {
        switch number {
        case ENOSPC, EDQUOT:
            TransferFailure(.diskFull, "The disk has too little free space to \(action).")
        case ENOENT, ENOTDIR, EACCES, EPERM, EROFS, ELOOP, ENAMETOOLONG, EISDIR:
            TransferFailure(.destinationUnavailable, "Could not \(action): \(String(cString: strerror(number))).")
        default:
            TransferFailure(.inputOutput, "Could not \(action): \(String(cString: strerror(number))).")
        }
    }

    /// Returns the failure of a rename. FAT and some other file systems allow fewer characters in a name than Linux's
    /// own (rename(2), `EINVAL`), or only valid text.
    static func renaming(_ number: Int32, to path: String) -> TransferFailure {
        switch number {
        case EINVAL, EILSEQ:
            TransferFailure(.destinationUnavailable, "The file system of \(path) does not support this name.")
        default: failure(number, "move the file to \(path)")
        }
    }

    /// Returns the failure of opening a partial file that may still exist.
    static func opening(_ number: Int32) -> TransferFailure {
        TransferFailure(.inputOutput, "The bytes on disk could not be opened: \(String(cString: strerror(number))).")
    }

    static func noSpace(needed: Int64, free: Int64) -> TransferFailure {
        TransferFailure(
            .diskFull, "\(QuantityText.size(needed)) more are needed, and \(QuantityText.size(free)) are free.")
    }
}
