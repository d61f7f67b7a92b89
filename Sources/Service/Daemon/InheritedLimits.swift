import Glibc

/// The resource limits that a process inherits, such as those set with `ulimit` in a shell.
struct InheritedLimits: Hashable, Sendable {
    /// The limit of the address space in bytes (RLIMIT_AS); nil if it is unlimited.
    var addressSpace: Int64?

    /// The minimum address space in bytes. The service reserves it for thread stacks, arenas of the allocator, mapped
    /// files and libraries, but never uses most of it.
    static let leastAddressSpace: Int64 = 1 << 30

    /// Raises the soft limits of file size and address space to the hard limits.
    ///
    /// - Throws: ``DaemonError/configuration(_:)`` if the limit is too low to start.
    static func raise() throws(DaemonError) {
        _ = raised(RLIMIT_FSIZE)
        if let objection = InheritedLimits(addressSpace: raised(RLIMIT_AS)).objection {
            throw .configuration(objection)
        }
    }

    /// The reason why the service cannot start; nil if it can.
    var objection: String? {
        guard let addressSpace, addressSpace < Self.leastAddressSpace else { return nil }
        return
            "The service may use \(addressSpace >> 20) MiB of address space, "
            + "but needs \(Self.leastAddressSpace >> 20) MiB. Most of it stays unused. "
            + "Raise the limit: 'ulimit -v' in a shell, LimitAS= in a systemd unit. "
            + "To limit memory, use MemoryMax= instead."
    }

    private static func raised(_ limit: __rlimit_resource) -> Int64? {
        var values = rlimit()
        let resource = __rlimit_resource_t(limit.rawValue)
        guard getrlimit(resource, &values) == 0 else { return nil }
        values.rlim_cur = values.rlim_max
        setrlimit(resource, &values)
        return values.rlim_max == rlim_t.max ? nil : Int64(clamping: values.rlim_max)
    }
}
