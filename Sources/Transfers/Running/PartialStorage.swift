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
/// other place by such a crash is simply written over.
struct PartialStorage: Sendable {
    private let paths: ServicePaths
    /// Tells the files of this service from another's in a directory that both download to.
    private let tag: String

    init(paths: ServicePaths) {
        self.paths = paths
        tag = String(Self.hash(paths.state.path), radix: 16)
    }

    /// The place for new bytes of a task.
    func freshPath(for record: TaskRecord) -> String {
        let places = places(for: record)
        return record.partial?.path == places.first ? places.second : places.first
    }

    /// Removes every byte of a task that was not published.
    func discard(_ record: TaskRecord) {
        if let path = record.partial?.path { unlink(path) }
        discardRest(record)
    }

    /// Removes what may lie in the places of a task and is not what its record names.
    func discardRest(_ record: TaskRecord) {
        for path in rest(of: record) { unlink(path) }
    }

    /// The places of a task that its record does not name, whether something lies there or not.
    func rest(of record: TaskRecord) -> [String] {
        let places = places(for: record)
        return [places.first, places.second, copyPath(for: record)].compactMap(\.self)
            .filter { $0 != record.partial?.path }
    }

    /// Where a file is copied to when its destination turns out to be on another file system.
    func copyPath(for record: TaskRecord) -> String? {
        record.request.destination.map { "\($0.directory)/.nightshift-\(tag)-\(record.id).copy.part" }
    }

    /// Cuts a file with gaps to its contiguous beginning; false where that fails.
    static func cut(_ descriptor: Int32, to count: Int64) -> Bool { ftruncate(descriptor, off_t(count)) == 0 }

    /// Opens the bytes that are here and can be trusted.
    ///
    /// In the boot in which they were written the file's length counts: the page cache survives the service. After a reboot
    /// only what was synced counts; what lies behind is cut off, lest it be taken for good in this boot.
    func open(_ partial: PartialFile, bootID: String) -> OpenPartial? {
        let descriptor = Glibc.open(partial.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        var information = stat()
        guard fstat(descriptor, &information) == 0 else {
            close(descriptor)
            return nil
        }
        let size = Int64(information.st_size)
        let allocated = Int64(information.st_blocks) * 512
        if let map = partial.segments?.surviving(sameBoot: partial.bootID == bootID, fileLength: size) {
            return OpenPartial(descriptor: descriptor, count: map.count, allocated: allocated, segments: map)
        }
        if partial.bootID == bootID { return OpenPartial(descriptor: descriptor, count: size, allocated: allocated) }
        let count = min(size, partial.synced)
        guard ftruncate(descriptor, off_t(count)) == 0 else {
            close(descriptor)
            return nil
        }
        return OpenPartial(descriptor: descriptor, count: count, allocated: count)
    }

    /// Creates the file for a new version's bytes and reserves their space where the file system can.
    ///
    /// - Returns: the descriptor, or why there is none.
    static func create(_ path: String, total: Int64?) -> Result<Int32, TransferFailure> {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return .failure(DiskTrouble.failure(errno, "create \(path)")) }
        if let total, let failure = reserve(descriptor, from: 0, to: total) {
            close(descriptor)
            unlink(path)
            return .failure(failure)
        }
        return .success(descriptor)
    }

    /// Makes sure that the file can grow to `end`; nil when it can.
    static func reserve(_ descriptor: Int32, from start: Int64, to end: Int64) -> TransferFailure? {
        guard end > start else { return nil }
        if end - start >= reservedFrom, !reservationIsPointless.contains(nightshift_filesystem_type(descriptor)) {
            if nightshift_reserve(descriptor, start, end - start) == 0 { return nil }
            // Whatever else is wrong with reserving, writing may still work.
            guard errno == ENOSPC || errno == EDQUOT else { return nil }
            return DiskTrouble.noSpace(needed: end - start, free: freeSpace(descriptor) ?? 0)
        }
        guard let free = freeSpace(descriptor) else { return nil }
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
        let names = (try? FileManager.default.contentsOfDirectory(atPath: paths.partials.path)) ?? []
        return names.compactMap { name in
            guard let number = name.split(separator: ".").first.flatMap({ Int64($0) }) else { return nil }
            return (paths.partials.appending(path: name).path, TaskID(number))
        }
    }

    /// The two places of a task: with the service where the destination is on the same file system, else beside the
    /// destination, hidden, so that the finished file only has to be renamed.
    private func places(for record: TaskRecord) -> (first: String, second: String) {
        let base =
            if let directory = record.request.destination?.directory, isForeign(directory) {
                "\(directory)/.nightshift-\(tag)-\(record.id)"
            } else {
                "\(paths.partials.path)/\(record.id)"
            }
        return ("\(base).a.part", "\(base).b.part")
    }

    private func isForeign(_ directory: String) -> Bool {
        var there = stat()
        var here = stat()
        guard stat(directory, &there) == 0, stat(paths.partials.path, &here) == 0 else { return false }
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

    /// FNV-1a: the same in every process, unlike Swift's own hashing.
    private static func hash(_ text: String) -> UInt32 {
        text.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }
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

    static func noSpace(needed: Int64, free: Int64) -> TransferFailure {
        TransferFailure(.diskFull, "\(needed) more bytes are needed and \(free) are free.")
    }
}
