import Glibc

/// The limit on the files and connections that this process may have open at once.
package enum DescriptorLimit {
    /// Raises the limit as far as the system allows without privileges, and returns the new limit.
    ///
    /// Systems start programs with a limit of 1,024 for compatibility with programs that use `select`. Other programs
    /// are expected to raise the limit.
    @discardableResult
    package static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
        return Int(clamping: isRaised ? raised.rlim_cur : limit.rlim_cur)
    }
}
