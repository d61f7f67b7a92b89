#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The signals with which a user or a terminal stops a job. They are blocked in a ``GatedProcess`` until its program is
/// executed.
enum StopSignals {
    static let numbers = [SIGTSTP, SIGTTIN, SIGTTOU]

    /// Unblocks the stop signals in the calling thread, which is about to execute another program.
    ///
    /// Pending stop signals are discarded: they were sent to the process group in which the process was created, and
    /// that group has already been stopped and continued. Ignored signals stay ignored.
    static func admit() {
        var none = sigset_t()
        sigemptyset(&none)
        // Ignoring a signal discards pending ones.
        for number in numbers { signal(number, signal(number, SIG_IGN)) }
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }
}
