import CNightshift
import Glibc
import NightshiftAPI
import Store

/// File operations with several callers. All of them block.
enum FileSteps {
    /// Syncs the entries of a directory, so that they survive a power cut. Returns false, with `errno`, after a
    /// failure.
    static func syncDirectory(_ path: String) -> Bool { nightshift_sync_directory(path) == 0 }

    /// Syncs the bytes of a file, so that they survive a power cut, as far as the file system supports that. Returns
    /// false, with `errno`, after a failure.
    static func syncData(_ descriptor: Int32) -> Bool {
        fdatasync(descriptor) == 0 || [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno)
    }

    /// Copies the first `size` bytes of a file into another file, at the same offsets.
    ///
    /// - Parameter syncEvery: the number of bytes after which the copy waits until they are on disk.
    /// - Returns: the number of copied bytes; nil, with `errno`, after a failure.
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
    /// Opens the file for reading.
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
