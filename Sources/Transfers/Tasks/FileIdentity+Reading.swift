import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
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
