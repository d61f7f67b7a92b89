#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Gives the terminal to the program and takes it back, as a shell does for its jobs.
///
/// The terminal is standard input. If standard input is not a terminal, or this program is not in its foreground,
/// nothing happens.
struct JobControl: Sendable {
    /// The program's process group.
    let group: pid_t
    private let terminal: Int32 = 0

    /// Makes the program's group the foreground group of the terminal, if this program's group is in the foreground.
    func pass() {
        if tcgetpgrp(terminal) == getpgrp() { setForeground(group) }
    }

    /// Makes this program's group the foreground group of the terminal, if the program's group is in the foreground.
    func takeBack() {
        if tcgetpgrp(terminal) == group { setForeground(getpgrp()) }
    }

    /// Stops this process because the program was stopped. Returns after this process was continued, and continues the
    /// program.
    ///
    /// - Parameter number: the signal that stopped the program: SIGTSTP, SIGTTIN or SIGTTOU.
    func stopAlong(_ number: Int32) {
        takeBack()
        // The signal also stops the other processes of a pipeline. This process ignores it and stops itself afterwards,
        // so that it notices when it is continued.
        let before = signal(number, SIG_IGN)
        kill(0, number)
        signal(number, before)
        raise(SIGSTOP)
        pass()
        kill(-group, SIGCONT)
    }

    private func setForeground(_ group: pid_t) {
        // While the program has the terminal, this process is in the background, where tcsetpgrp would raise SIGTTOU.
        var change = sigset_t()
        var before = sigset_t()
        sigemptyset(&change)
        sigaddset(&change, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &change, &before)
        tcsetpgrp(terminal, group)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
