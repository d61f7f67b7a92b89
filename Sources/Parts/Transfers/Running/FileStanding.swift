import CDispatch  // needed for stat(2), which the compiler attributes to this module
import CNightshift
import Glibc
import NightshiftAPI
import Store

/// The current state of a file. It shows whether the file is still the one that was written, and belongs to the right
/// user.
struct FileStanding: Hashable, Sendable {
    var isRegular: Bool
    /// The owner of the file, as the file system reports it.
    var owner: UInt32
    var links: UInt64
    var inode: UInt64
    var device: UInt64
    var size: Int64
    var allocated: Int64

    /// Reads an open file. Returns nil, with `errno`, after a failure.
    init?(descriptor: Int32) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { return nil }
        self.init(information)
    }

    /// Reads the file with this name, without following a link.
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

    /// Returns the reason why this is not the file that `partial` describes; nil if it is that file.
    ///
    /// - Parameter isSameBoot: whether devices have the same numbers as in `partial`.
    func flaw(_ partial: PartialFile, isSameBoot: Bool) -> String? {
        if let flaw = flaw(owner: partial.owner) { return flaw }
        if let noted = partial.inode, noted != inode { return Self.replaced }
        if isSameBoot, let noted = partial.device, noted != device { return Self.replaced }
        guard isSameBoot, size < max(partial.length ?? 0, partial.synced) else { return nil }
        return "the partial file is shorter than the bytes that were written"
    }

    /// Returns the reason why the file cannot be trusted, whatever its content; nil if it is a regular file of the
    /// right user with exactly one name.
    ///
    /// - Parameter owner: the owner when the file was created, if that was not this user.
    func flaw(owner: UInt32?) -> String? {
        if !isRegular { return "the partial file was replaced by something that is not a regular file" }
        if self.owner != owner ?? geteuid() { return "the partial file belongs to another user" }
        // Some FUSE file systems do not count the names of a file.
        return links <= 1 ? nil : "the partial file has \(links) names"
    }

    private static let replaced = "the partial file was replaced by another file"
}

/// Support for file systems that do not report the same values as Linux's own file systems.
extension FileStanding {
    /// The owner, if it is not this user. Servers and shared folders may assign a new file to another user (NFS with
    /// `all_squash`, vboxsf, CIFS and sshfs without a user).
    var foreignOwner: UInt32? { owner == geteuid() ? nil : owner }

    /// Returns whether files keep their inode numbers after they are closed and when they are renamed.
    static func keepsNumbers(_ descriptor: Int32) -> Bool { keepsNumbers(type: nightshift_filesystem_type(descriptor)) }

    /// Returns whether file systems of this type keep the inode numbers of files.
    ///
    /// - Parameter type: the type that statfs(2) returns.
    static func keepsNumbers(type: Int64) -> Bool { !numberingAnew.contains(type) }

    /// The types of file systems that give a file a new inode number each time the kernel loads it into memory: msdos
    /// and vfat, exfat, FUSE, CIFS and SMB2, vboxsf.
    private static let numberingAnew: Set<Int64> = [
        0x4d44, 0x2011_bab0, 0x6573_5546, 0xff53_4d42, 0xfe53_4d42, 0x786f_4256,
    ]
}

extension Publication {
    /// Records the identity of the file to publish.
    ///
    /// - Parameter descriptor: the descriptor of that file.
    mutating func name(_ standing: FileStanding, _ descriptor: Int32) {
        inode = FileStanding.keepsNumbers(descriptor) ? standing.inode : 0
        owner = standing.foreignOwner
    }

    /// Returns whether a file with this inode may be the file to publish.
    func mayName(_ inode: UInt64) -> Bool { self.inode == 0 || self.inode == inode }
}

extension PartialStorage {
    /// Checks whether a file is the right one, and how many of its bytes can be trusted.
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
