import CNightshift
import Foundation
import Glibc
import NightshiftAPI

/// The file from which an app's process reads its remaining background time. The file stays mapped while this object
/// exists.
///
/// The file of a previous run of the service is reused, because a process may still have it mapped.
final class ClockFile {
    let path: String
    private let word: UnsafeMutableRawPointer

    struct Unavailable: Error, CustomStringConvertible {
        let description: String

        init(_ what: String, code: Int32 = errno) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    init(folder: URL, name: String) throws(Unavailable) {
        let folder = folder.path(percentEncoded: false)
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw Unavailable(folder) }
        path = folder + name
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Unavailable(path) }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(BackgroundClock.size)) == 0 else { throw Unavailable(path) }
        // Without this, if the file system is full, the first write to the mapping would end the service with SIGBUS.
        let code = posix_fallocate(descriptor, 0, off_t(BackgroundClock.size))
        guard code == 0 else { throw Unavailable(path, code: code) }
        guard let mapped = mmap(nil, BackgroundClock.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            mapped != MAP_FAILED
        else { throw Unavailable(path) }
        word = mapped
    }

    deinit { munmap(word, BackgroundClock.size) }

    func write(_ clock: BackgroundClock) { nightshift_store_word(word, clock.word) }

    /// Deletes the file, because its process is gone.
    func remove() { unlink(path) }
}
