import CDispatch  // needed for stat(2), which the compiler attributes to this module
import CNightshift
import Glibc
import NightshiftAPI
import Store

extension FileIdentity {
    /// Reads the identity of the file at `path`. Returns nil, with `errno`, if it is not a readable regular file.
    init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        self.init(descriptor: descriptor)
    }

    /// Returns whether the kernel generates the file's content while the file is being read (`/proc`, `/sys`). The
    /// reported length of such a file is not its real length.
    static func isMadeUp(path: String, size: Int64) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if madeUp.contains(nightshift_filesystem_type(descriptor)) { return true }
        var byte: UInt8 = 0
        return size == 0 && read(descriptor, &byte, 1) > 0
    }

    /// The magic numbers of proc, sysfs, debugfs, tracefs, securityfs, cgroup and cgroup2 in linux/magic.h.
    private static let madeUp: Set<Int64> = [
        0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0x27_e0eb, 0x6367_7270,
    ]

    /// Reads the identity of an open file. The inode number is omitted if the file system does not keep it.
    init?(descriptor: Int32) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { return nil }
        guard information.st_mode & S_IFMT == S_IFREG else {
            errno = EINVAL
            return nil
        }
        self.init(
            size: Int64(information.st_size),
            modifiedNanoseconds: Int64(information.st_mtim.tv_sec) &* 1_000_000_000
                &+ Int64(information.st_mtim.tv_nsec),
            inode: FileStanding.keepsNumbers(descriptor) ? UInt64(information.st_ino) : 0,
            device: UInt64(information.st_dev))
    }
}
