/// The Swift runtime of a process that does not wake up while it has nothing to do.
package enum QuietRuntime {
    /// Makes tasks run on threads that sleep until there is work, and sleeping tasks use one timer. Must be called on the
    /// main thread before the first task is created. Without a call, libdispatch runs the tasks, and wakes the process
    /// each second.
    ///
    /// The runtime offers this only as an interface that may change with each version. With another version of Swift,
    /// the call does nothing.
    ///
    /// - Returns: whether the call had an effect.
    @discardableResult
    package static func begin() -> Bool {
        #if compiler(>=6.3) && compiler(<6.4)
            ServiceExecutors.install()
            return true
        #else
            return false
        #endif
    }
}
