import CNightshift
import Foundation
import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file in which the service keeps a process's ``BackgroundClock``, mapped: reading it asks nobody.
///
/// The service may replace the file, and never makes it shorter: that would end whoever reads the mapping with SIGBUS.
package final class BackgroundClockFile: @unchecked Sendable {
    // Unchecked because of the address, which is constant; what it points to is read in one access.
    private let word: UnsafeRawPointer

    /// Nil where there is no such file, or one that is too short.
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

    /// Seconds left now; infinite without a limit.
    package var remaining: Double {
        BackgroundClock(word: nightshift_load_word(word)).remaining(atNanoseconds: nightshift_awake_nanoseconds())
    }
}
