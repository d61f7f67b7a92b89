#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The signals with which a user or a terminal stops a job. They are blocked in a ``GatedProcess`` until the process
/// executes its program.
enum StopSignals {
    static let numbers = [SIGTSTP, SIGTTIN, SIGTTOU]

    /// Unblocks the stop signals in the calling thread, which is about to execute another program.
    ///
    /// Stop signals that are pending are discarded. They were sent to the process group in which the process was
    /// created, and that group has already been stopped and continued. Signals that are ignored stay ignored.
    static func admit() {
        var none = sigset_t()
        sigemptyset(&none)
        // Ignoring a signal discards pending signals of this number.
        for number in numbers { signal(number, signal(number, SIG_IGN)) }
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }
}
