#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The signals with which a user or a terminal stops a job. They are blocked in a ``GatedProcess`` until its gate opens.
enum StopSignals {
    static let numbers = [SIGTSTP, SIGTTIN, SIGTTOU]

    /// Lets the calling thread, which is about to become another program, be stopped again.
    ///
    /// What came until now was meant for the group that the process was made in, which has stopped for it and gone on: it is
    /// thrown away. Ignored signals stay ignored.
    static func admit() {
        var none = sigset_t()
        sigemptyset(&none)
        // Ignoring a signal throws away those that are pending.
        for number in numbers { signal(number, signal(number, SIG_IGN)) }
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }
}
