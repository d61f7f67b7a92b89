#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Passes the terminal on to the program that is run, and takes it back, as a shell does with its jobs.
///
/// The terminal is standard input. Where that is none, or this program is not in its foreground, nothing is passed on.
struct JobControl: Sendable {
    /// The program's process group.
    let group: pid_t
    private let terminal: Int32 = 0

    /// Makes the program's group the foreground's where this program's is.
    func pass() {
        if tcgetpgrp(terminal) == getpgrp() { setForeground(group) }
    }

    /// Makes this program's group the foreground's where the program's is.
    func takeBack() {
        if tcgetpgrp(terminal) == group { setForeground(getpgrp()) }
    }

    /// Follows the program into a stop; returns when this one is continued, with the program continued too.
    ///
    /// - Parameter number: SIGTSTP, SIGTTIN or SIGTTOU: what its user or the terminal has stopped it with.
    func stopAlong(_ number: Int32) {
        takeBack()
        // Whoever is in a pipeline with this one stops with it; this one by itself, so that it is known when it goes on.
        let before = signal(number, SIG_IGN)
        kill(0, number)
        signal(number, before)
        raise(SIGSTOP)
        pass()
        kill(-group, SIGCONT)
    }

    private func setForeground(_ group: pid_t) {
        // Asked for from the background, which this program is in while the other has the terminal.
        var change = sigset_t()
        var before = sigset_t()
        sigemptyset(&change)
        sigaddset(&change, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &change, &before)
        tcsetpgrp(terminal, group)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
