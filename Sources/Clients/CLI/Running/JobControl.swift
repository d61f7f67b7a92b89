#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A value that gives the terminal to the program and takes it back, as a shell does for its jobs.
///
/// The terminal is standard input. The methods do nothing if standard input is not a terminal, or if this program is
/// not in the terminal's foreground.
struct JobControl: Sendable {
    /// The process group of the program.
    let group: pid_t
    private let terminal: Int32 = 0

    /// Moves the program's group to the foreground of the terminal, if this process is in the foreground.
    func pass() {
        if tcgetpgrp(terminal) == getpgrp() { setForeground(group) }
    }

    /// Moves this process's group to the foreground of the terminal, if the program's group is in the foreground.
    func takeBack() {
        if tcgetpgrp(terminal) == group { setForeground(getpgrp()) }
    }

    /// Stops this process because the program was stopped. When this process is continued, continues the program and
    /// returns.
    ///
    /// - Parameter number: the signal that stopped the program: SIGTSTP, SIGTTIN or SIGTTOU.
    func stopAlong(_ number: Int32) {
        takeBack()
        // The signal also stops the other processes of a pipeline. This process ignores the signal and then stops
        // itself, so that it can act when it is continued.
        let before = signal(number, SIG_IGN)
        kill(0, number)
        signal(number, before)
        raise(SIGSTOP)
        pass()
        kill(-group, SIGCONT)
    }

    private func setForeground(_ group: pid_t) {
        // While the program has the terminal, this process is in the background. There, tcsetpgrp would raise SIGTTOU.
        var change = sigset_t()
        var before = sigset_t()
        sigemptyset(&change)
        sigaddset(&change, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &change, &before)
        tcsetpgrp(terminal, group)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
