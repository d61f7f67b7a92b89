import Glibc
import NightshiftAPI
import Store

/// What is done to files in more than one place. All of it blocks.
enum FileSteps {
    /// Makes a directory's entries survive a power cut; false, with `errno`, where that failed.
    static func syncDirectory(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }

    /// Copies the first `size` bytes of a file to where another one stands.
    ///
    /// - Returns: how many there were; nil, with `errno`, where that failed.
    static func copy(_ source: Int32, to destination: Int32, size: Int64) -> Int64? {
        var offset: off_t = 0
        while offset < size {
            let moved = sendfile(destination, source, &offset, 1 << 30)
            if moved < 0, errno == EINTR { continue }
            if moved < 0 { return nil }
            if moved == 0 { break }
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
