import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import CNightshift
import Glibc
import NightshiftAPI
import Store

extension FileIdentity {
    /// What is at `path` now; nil, with errno set, when it is not a readable regular file.
    init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        self.init(descriptor: descriptor)
    }

    /// Whether the kernel makes a file up as it is read, so that it has another length than it says (`/proc`, `/sys`).
    static func isMadeUp(path: String, size: Int64) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if madeUp.contains(nightshift_filesystem_type(descriptor)) { return true }
        var byte: UInt8 = 0
        return size == 0 && read(descriptor, &byte, 1) > 0
    }

    /// proc, sysfs, debugfs, tracefs, securityfs, cgroup and cgroup2, as linux/magic.h has them.
    private static let madeUp: Set<Int64> = [
        0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0x27_e0eb, 0x6367_7270,
    ]

    /// Without the number of its inode where its file system gives it another one as it goes along.
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
