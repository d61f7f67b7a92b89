import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import CNightshift
import Foundation
import Glibc
import NightshiftAPI
import Store

/// The files that hold the beginnings of downloads.
///
/// A task has two places for its bytes and uses them in turn: those of a new version go to the place that the store does
/// not name, so that a crash before the commit leaves the old bytes and their validators as a pair. A file left in the
/// other place by such a crash makes room for the next one.
///
/// A destination's directory may be one that others write to. Nobody can foresee the names there, so nobody can be there first; each
/// file is new when it is created, and the row says which inode it is: ``open(_:bootID:)`` takes no other for it.
struct PartialStorage: Sendable {
    /// The service's own.
    private let folder: String
    private let names: PartialNames

    init(paths: ServicePaths) {
        folder = paths.partials.path
        names = PartialNames(folder: paths.state.path)
    }

    /// Makes the service's own folder where somebody has removed it under the service.
    func restoreFolder() { mkdir(folder, 0o700) }

    /// The place for new bytes of a task.
    func freshPath(for record: TaskRecord) -> String {
        let (folder, name) = naming(record)
        let first = "\(folder)/\(name(record.id, "a"))"
        return record.partial?.path == first ? "\(folder)/\(name(record.id, "b"))" : first
    }

    /// Removes every byte of a task that was not published.
    func discard(_ record: TaskRecord) {
        if let path = record.partial?.path { unlink(path) }
        discardRest(record)
    }

    /// Removes what may lie in the places of a task and is not what its record names.
    func discardRest(_ record: TaskRecord) {
        for path in leftovers(of: record) { unlink(path) }
    }

    /// The places of a task that its record does not name, whether something lies there or not.
    func leftovers(of record: TaskRecord) -> [String] {
        let (folder, name) = naming(record)
        let places = ["a", "b"].map { "\(folder)/\(name(record.id, $0))" }
        return (places + [copyPath(for: record), keptCopyPath(for: record)].compactMap(\.self))
            .filter { $0 != record.partial?.path }
    }

    /// Where a file is copied to when it turns out that it cannot be renamed to its destination.
    func copyPath(for record: TaskRecord) -> String? {
        record.request.destination.map { copyPath(for: record, in: $0.directory) }
    }

    /// The same in the folder where a link leads to that the file is written through.
    func copyPath(for record: TaskRecord, in folder: String) -> String {
        "\(folder)/\(names.hidden(record.id, "copy"))"
    }

    /// The same where the service keeps what cannot go to its destination.
    func keptCopyPath(for record: TaskRecord) -> String {
        "\(folder)/\(names.own(record.id, "copy"))"
    }

    /// Cuts a file with gaps to its contiguous beginning; false where that fails.
    static func cut(_ descriptor: Int32, to count: Int64) -> Bool { ftruncate(descriptor, off_t(count)) == 0 }

    /// Opens the bytes that are here and can be trusted.
    ///
    /// In the boot in which they were written the file's length counts: the page cache survives the service. After a reboot
    /// only what was synced counts; what lies behind is cut off, lest it be taken for good in this boot. Nor does anything count
    /// that was appended since the last exchange ended in order.
    func open(_ partial: PartialFile, bootID: String) -> Opening {
        guard !nightshift_lacks_descriptors() else { return .trouble(DiskTrouble.opening(errno)) }
        let descriptor = Glibc.open(partial.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            return switch errno {
            case ENOENT, ENOTDIR: .lost("the partial file is gone")
            case ELOOP, ENXIO, EISDIR: .lost("what stands in the partial file's place is no regular file")
            case EACCES, EPERM: .lost("the partial file may not be opened")
            default: .trouble(DiskTrouble.opening(errno))
            }
        }
        let found = examine(partial, descriptor, isSameBoot: partial.bootID == bootID)
        if found.file == nil { close(descriptor) }
        return found
    }

    /// Creates the file for a new version's bytes and reserves their space where the file system can.
    ///
    /// What a crash has left under the name is removed; where somebody else's file cannot be, the new one has another name.
    ///
    /// - Returns: the file, or why there is none.
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

    /// Whether bytes are missing in a file that was written from its start to its end: somebody cut it meanwhile, and writing went
    /// on behind. Only asked where a file system that was told every byte keeps every byte.
    static func hasHoles(_ descriptor: Int32, size: Int64) -> Bool {
        guard size > 0, keepsEveryByte.contains(nightshift_filesystem_type(descriptor)) else { return false }
        let hole = lseek(descriptor, 0, seekHole)
        return hole >= 0 && Int64(hole) < size
    }

    /// `SEEK_HOLE` of lseek(2), which Glibc's module leaves out.
    private static let seekHole: Int32 = 4

    /// ext2 to ext4, xfs and tmpfs.
    private static let keepsEveryByte: Set<Int64> = [0xef53, 0x5846_5342, 0x0102_1994]

    /// Makes sure that the file can grow to `end`; nil when it can.
    static func reserve(_ descriptor: Int32, from start: Int64, to end: Int64) -> TransferFailure? {
        guard end > start else { return nil }
        // Before: what has no room as a whole may still have taken all that there was.
        let free = freeSpace(descriptor)
        if end - start >= reservedFrom, !reservationIsPointless.contains(nightshift_filesystem_type(descriptor)) {
            if nightshift_reserve(descriptor, start, end - start) == 0 { return nil }
            if errno == EFBIG {
                return FileSizeLimit.failure(end: end, limit: FileSizeLimit.current)
            }
            // Whatever else is wrong with reserving, writing may still work.
            guard errno == ENOSPC || errno == EDQUOT else { return nil }
            return DiskTrouble.noSpace(needed: end - start, free: free ?? 0)
        }
        guard let free else { return nil }
        return free < end - start ? DiskTrouble.noSpace(needed: end - start, free: free) : nil
    }

    /// Free bytes for this user on the file system of `path` or of its nearest ancestor that exists.
    static func freeSpace(at path: String) -> Int64? {
        var information = statvfs()
        var path = path
        while statvfs(path, &information) != 0 {
            guard errno == ENOENT, path != "/" else { return nil }
            path = (path as NSString).deletingLastPathComponent
        }
        return free(information)
    }

    /// Names of files in the service's own directory, with the task that each belongs to.
    func ownFiles() -> [(path: String, task: TaskID)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { name in
            guard let number = name.split(separator: ".").first.flatMap({ Int64($0) }) else { return nil }
            return ("\(folder)/\(name)", TaskID(number))
        }
    }

    /// The folder and the naming of a task's two places: with the service where the destination is on the same file system, else beside the
    /// destination, hidden, so that the finished file only has to be renamed.
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

    /// Below this size the reservation costs more than it saves.
    private static let reservedFrom: Int64 = 1 << 20
    /// tmpfs would have to touch every page twice, btrfs cannot compress what was reserved.
    private static let reservationIsPointless: Set<Int64> = [0x0102_1994, 0x9123_683e]

    private static func freeSpace(_ descriptor: Int32) -> Int64? {
        var information = statvfs()
        return fstatvfs(descriptor, &information) == 0 ? free(information) : nil
    }

    private static func free(_ information: statvfs) -> Int64 {
        // A network file system may claim any number.
        Int64(saturating: Double(information.f_bavail) * Double(information.f_frsize))
    }
}

/// What became of opening a partial file.
enum Opening {
    case opened(OpenPartial)
    /// It is gone, or not the one that was written. Why, in words that follow "because".
    case lost(String)
    /// Nobody can tell now.
    case trouble(TransferFailure)

    var file: OpenPartial? {
        if case .opened(let file) = self { file } else { nil }
    }
}

/// A file that did not exist before.
struct CreatedFile: Sendable {
    var descriptor: Int32
    /// Another one than was asked for where that was taken.
    var path: String
    var inode: UInt64
    var device: UInt64
    /// ``FileStanding/foreignOwner``.
    var owner: UInt32?
}

/// The bytes of a download that are here.
struct OpenPartial {
    var descriptor: Int32
    /// Bytes that can be trusted.
    var count: Int64
    /// Bytes of disk that the file has already, reserved ones included.
    var allocated: Int64
    /// Which bytes these are, where some may lie behind gaps.
    var segments: SegmentMap?
}

/// Words for what disks refuse.
enum DiskTrouble {
    static func failure(_ number: Int32, _ action: String) -> TransferFailure {
        switch number {
        case ENOSPC, EDQUOT:
            TransferFailure(.diskFull, "There is no space left to \(action).")
        case ENOENT, ENOTDIR, EACCES, EPERM, EROFS, ELOOP, ENAMETOOLONG, EISDIR:
            TransferFailure(.destinationUnavailable, "Could not \(action): \(String(cString: strerror(number))).")
        default:
            TransferFailure(.inputOutput, "Could not \(action): \(String(cString: strerror(number))).")
        }
    }

    /// FAT and others take fewer characters in a name than Linux's own do (rename(2), `EINVAL`), or no bytes that are no text.
    static func renaming(_ number: Int32, to path: String) -> TransferFailure {
        switch number {
        case EINVAL, EILSEQ: TransferFailure(.destinationUnavailable, "\(path) is no name that its file system takes.")
        default: failure(number, "move the file to \(path)")
        }
    }

    /// Trouble with a partial file that may well be there.
    static func opening(_ number: Int32) -> TransferFailure {
        TransferFailure(.inputOutput, "Could not open the bytes that are here: \(String(cString: strerror(number))).")
    }

    static func noSpace(needed: Int64, free: Int64) -> TransferFailure {
        TransferFailure(.diskFull, "\(needed) more bytes are needed and \(free) are free.")
    }
}
