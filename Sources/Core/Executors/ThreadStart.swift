import Glibc

/// The start of threads that use the calls of the C library.
package enum ThreadStart {
    /// Starts a thread, and retries as long as a limit does not allow another thread (`EAGAIN`, pthread_create(3)).
    ///
    /// Such a limit counts the threads of all programs of the user, and the threads of other programs end sooner or
    /// later. The caller is blocked meanwhile, because the alternative is to end the process with all its work.
    ///
    /// - Parameters:
    ///   - pause: A closure that waits between two attempts: 50 ms by default.
    ///   - create: A closure that creates the thread, and returns the same results as pthread_create.
    /// - Returns: 0, or another error.
    package static func result(
        pause: () -> Void = { _ = usleep(50_000) }, of create: () -> Int32
    ) -> Int32 {
        var result = create()
        while result == EAGAIN {
            pause()
            result = create()
        }
        return result
    }

    /// Leaves signals to the program's other threads. In particular, a closed connection does not raise SIGPIPE in the
    /// calling thread.
    ///
    /// A crash must be handled by the thread that causes it. If the thread blocked those signals as well, the process
    /// would end without a message.
    package static func leaveSignals() {
        var signals = sigset_t()
        sigfillset(&signals)
        for fault in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { sigdelset(&signals, fault) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
