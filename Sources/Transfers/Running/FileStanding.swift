import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Glibc
import NightshiftAPI
import Store

/// What a file is now: whether it is still the one that was written, and nobody else's.
struct FileStanding: Hashable, Sendable {
    var isRegular: Bool
    var isOwn: Bool
    var links: UInt64
    var inode: UInt64
    var device: UInt64
    var size: Int64
    var allocated: Int64

    /// Nil, with `errno`, where it cannot be looked at.
    init?(descriptor: Int32) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { return nil }
        self.init(information)
    }

    /// What stands under a name, not what it may point to.
    init?(name: String) {
        var information = stat()
        guard lstat(name, &information) == 0 else { return nil }
        self.init(information)
    }

    private init(_ information: stat) {
        isRegular = information.st_mode & S_IFMT == S_IFREG
        isOwn = information.st_uid == geteuid()
        links = UInt64(information.st_nlink)
        inode = UInt64(information.st_ino)
        device = UInt64(information.st_dev)
        size = Int64(information.st_size)
        allocated = Int64(information.st_blocks) * 512
    }

    /// Why it is not the file that `partial` tells of; nil where it is.
    ///
    /// - Parameter isSameBoot: whether devices have the numbers that they had.
    func flaw(_ partial: PartialFile, isSameBoot: Bool) -> String? {
        if let flaw { return flaw }
        if let noted = partial.inode, noted != inode { return Self.replaced }
        if isSameBoot, let noted = partial.device, noted != device { return Self.replaced }
        guard isSameBoot, size < max(partial.length ?? 0, partial.synced) else { return nil }
        return "the partial file has become shorter than what was written"
    }

    /// Why nobody may trust it, whatever was written; nil where it is an ordinary file of this user with this one name.
    var flaw: String? {
        if !isRegular { return "what stands in the partial file's place is no regular file" }
        if !isOwn { return "the partial file belongs to somebody else" }
        return links == 1 ? nil : "the partial file has \(links) names"
    }

    private static let replaced = "another file stands in the partial file's place"
}

extension PartialStorage {
    /// Whether a file is the right one, and how much of it can be trusted.
    func examine(_ partial: PartialFile, _ descriptor: Int32, isSameBoot: Bool) -> Opening {
        guard let standing = FileStanding(descriptor: descriptor) else {
            return .trouble(DiskTrouble.opening(errno))
        }
        if let flaw = standing.flaw(partial, isSameBoot: isSameBoot) { return .lost(flaw) }
        let (size, allocated) = (standing.size, standing.allocated)
        if let map = partial.segments?.surviving(sameBoot: isSameBoot, fileLength: size) {
            return .opened(OpenPartial(descriptor: descriptor, count: map.count, allocated: allocated, segments: map))
        }
        let count = isSameBoot ? min(size, partial.length ?? size) : min(size, partial.synced)
        guard count < size else {
            return .opened(OpenPartial(descriptor: descriptor, count: count, allocated: allocated))
        }
        guard ftruncate(descriptor, off_t(count)) == 0 else { return .trouble(DiskTrouble.opening(errno)) }
        return .opened(OpenPartial(descriptor: descriptor, count: count, allocated: count))
    }
}
