import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import CNightshift
import Glibc
import NightshiftAPI
import Store

/// What a file is now: whether it is still the one that was written, and nobody else's.
struct FileStanding: Hashable, Sendable {
    var isRegular: Bool
    /// The user that it belongs to, as its file system tells it.
    var owner: UInt32
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
        owner = information.st_uid
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
        if let flaw = flaw(owner: partial.owner) { return flaw }
        if let noted = partial.inode, noted != inode { return Self.replaced }
        if isSameBoot, let noted = partial.device, noted != device { return Self.replaced }
        guard isSameBoot, size < max(partial.length ?? 0, partial.synced) else { return nil }
        return "the partial file has become shorter than what was written"
    }

    /// Why nobody may trust it, whatever was written; nil where it is an ordinary file of the right user with this one name.
    ///
    /// - Parameter owner: the one that it had when it was made, where that was not this user.
    func flaw(owner: UInt32?) -> String? {
        if !isRegular { return "what stands in the partial file's place is no regular file" }
        if self.owner != owner ?? geteuid() { return "the partial file belongs to somebody else" }
        // Some file systems of FUSE count no names at all.
        return links <= 1 ? nil : "the partial file has \(links) names"
    }

    private static let replaced = "another file stands in the partial file's place"
}

/// File systems that tell other things of a file than Linux's own do.
extension FileStanding {
    /// The owner, where it is not this user: servers and shared folders may call whoever makes a file somebody else (NFS with
    /// `all_squash`, vboxsf, CIFS and sshfs without a user).
    var foreignOwner: UInt32? { owner == geteuid() ? nil : owner }

    /// Whether files keep their inodes' numbers while nobody has them open, and when they are renamed.
    static func keepsNumbers(_ descriptor: Int32) -> Bool { keepsNumbers(type: nightshift_filesystem_type(descriptor)) }

    /// - Parameter type: as statfs(2) has it.
    static func keepsNumbers(type: Int64) -> Bool { !numberingAnew.contains(type) }

    /// msdos and vfat, exfat, FUSE, CIFS and SMB2, vboxsf: they number files as these come into the kernel's memory.
    private static let numberingAnew: Set<Int64> = [
        0x4d44, 0x2011_bab0, 0x6573_5546, 0xff53_4d42, 0xfe53_4d42, 0x786f_4256,
    ]
}

extension Publication {
    /// Names the file that is to be published.
    ///
    /// - Parameter descriptor: of that file.
    mutating func name(_ standing: FileStanding, _ descriptor: Int32) {
        inode = FileStanding.keepsNumbers(descriptor) ? standing.inode : 0
        owner = standing.foreignOwner
    }

    /// Whether a file of this inode may be the one that it names.
    func mayName(_ inode: UInt64) -> Bool { self.inode == 0 || self.inode == inode }
}

extension PartialStorage {
    /// Whether a file is the right one, and how much of it can be trusted.
    func examine(_ partial: PartialFile, _ descriptor: Int32, isSameBoot: Bool) -> Opening {
        guard let standing = FileStanding(descriptor: descriptor) else {
            return .trouble(DiskTrouble.opening(errno))
        }
        var partial = partial
        if !FileStanding.keepsNumbers(descriptor) { partial.inode = nil }
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
