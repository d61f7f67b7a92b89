import CNightshift
import Glibc
import NightshiftAPI
import Store

/// What is done to files in more than one place. All of it blocks.
enum FileSteps {
    /// Makes a directory's entries survive a power cut; false, with `errno`, where that failed.
    static func syncDirectory(_ path: String) -> Bool { nightshift_sync_directory(path) == 0 }

    /// Has a file's bytes survive a power cut, as far as its file system has any means to that; false, with `errno`, where that failed.
    static func syncData(_ descriptor: Int32) -> Bool {
        fdatasync(descriptor) == 0 || [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno)
    }

    /// Copies the first `size` bytes of a file to where another one stands.
    ///
    /// - Parameter syncEvery: bytes after which they are waited for to be on disk.
    /// - Returns: how many there were; nil, with `errno`, where that failed.
    static func copy(
        _ source: Int32, to destination: Int32, size: Int64, syncEvery: Int64 = .max
    ) -> Int64? {
        var offset: off_t = 0
        var synced: off_t = 0
        while offset < size {
            let moved = sendfile(destination, source, &offset, Int(min(1 << 30, syncEvery, size - Int64(offset))))
            if moved < 0, errno == EINTR { continue }
            if moved < 0 { return nil }
            if moved == 0 { break }
            guard Int64(offset - synced) >= syncEvery else { continue }
            guard syncData(destination) else { return nil }
            synced = offset
        }
        return Int64(offset)
    }
}

extension UploadSource.File {
    /// A descriptor to read from.
    ///
    /// - Throws: ``TransferFailure/Code/sourceMissing``.
    func descriptor() throws(TransferFailure) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw TransferFailure(.sourceMissing, "\(path) cannot be read: \(String(cString: strerror(errno))).")
        }
        return descriptor
    }
}
