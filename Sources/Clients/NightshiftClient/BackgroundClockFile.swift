import CNightshift
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A memory mapping of the file in which the service stores the ``BackgroundClock`` of a process. A process reads the
/// clock from it without a request.
///
/// The service may replace the file but never truncates it. Truncation would end a process that reads the mapping, with
/// SIGBUS.
package final class BackgroundClockFile: @unchecked Sendable {
    // The class is marked as unchecked because of the address, which is constant. The word at this address is read in
    // one access.
    private let word: UnsafeRawPointer

    /// Maps the file. Returns nil if the file does not exist or is too short.
    package init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_size >= BackgroundClock.size else { return nil }
        guard let address = mmap(nil, BackgroundClock.size, PROT_READ, MAP_SHARED, descriptor, 0),
            address != MAP_FAILED
        else { return nil }
        word = UnsafeRawPointer(address)
    }

    deinit {
        munmap(UnsafeMutableRawPointer(mutating: word), BackgroundClock.size)
    }

    /// The remaining background time in seconds. It is infinite if there is no limit.
    package var remaining: Double {
        BackgroundClock(word: nightshift_load_word(word)).remaining(atNanoseconds: nightshift_awake_nanoseconds())
    }
}
