import Glibc
package import NightshiftAPI

/// The largest file that the process may write (RLIMIT_FSIZE), which it inherits: from a shell's `ulimit -f`, for example.
package enum FileSizeLimit {
    /// Bytes; nil without a limit.
    package static var current: Int64? {
        var values = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &values) == 0, values.rlim_cur != rlim_t.max else {
            return nil
        }
        return Int64(clamping: values.rlim_cur)
    }

    /// What it means that a file cannot be as large as it has to be (EFBIG).
    ///
    /// - Parameters:
    ///   - end: the bytes that it has to have, where that is known.
    ///   - limit: ``current``.
    package static func failure(end: Int64?, limit: Int64?) -> TransferFailure {
        let file = end.map { "A file of \($0) bytes" } ?? "The file"
        guard let limit, end ?? .max > limit else {
            return TransferFailure(.tooLarge, "\(file) is larger than its file system allows.")
        }
        return TransferFailure(
            .tooLarge,
            "\(file) is larger than the \(limit) bytes that the service may write to one. It was started under that limit "
                + "('ulimit -f' in a shell, LimitFSIZE= in a systemd unit): raise it, and start the service again.")
    }
}
