import Glibc
package import NightshiftAPI

/// The largest file that the process may write (RLIMIT_FSIZE). The process inherits the limit, for example from a
/// shell's `ulimit -f`.
package enum FileSizeLimit {
    /// The limit in bytes; nil without a limit.
    package static var current: Int64? {
        var values = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &values) == 0, values.rlim_cur != rlim_t.max else {
            return nil
        }
        return Int64(clamping: values.rlim_cur)
    }

    /// Returns the failure for a file that is larger than a limit (EFBIG).
    ///
    /// - Parameters:
    ///   - end: the required size of the file in bytes; nil if unknown.
    ///   - limit: the value of ``current``.
    package static func failure(end: Int64?, limit: Int64?) -> TransferFailure {
        let file = end.map { "A file of \($0) bytes" } ?? "The file"
        guard let limit, end ?? .max > limit else {
            return TransferFailure(.tooLarge, "\(file) is larger than its file system allows.")
        }
        return TransferFailure(
            .tooLarge,
            "\(file) is larger than \(limit) bytes, the limit under which the service was started "
                + "('ulimit -f' in a shell, LimitFSIZE= in a systemd unit). Raise the limit, and restart the service.")
    }
}
