import Glibc

/// A way to start threads that retries while a limit does not allow another thread.
enum ThreadStart {
    /// Starts a thread, and retries as long as a limit does not allow another thread (`EAGAIN`, pthread_create(3)).
    ///
    /// Such a limit counts the threads of all programs of the user, and the threads of other programs end sooner or
    /// later. The caller is blocked meanwhile, because the alternative is to end the process with all its work.
    ///
    /// - Parameters:
    ///   - pause: A closure that waits between two attempts.
    ///   - create: A closure that creates the thread, and returns the same results as pthread_create.
    /// - Returns: 0, or another error.
    static func result(
        pause: () -> Void = { _ = usleep(ThreadStart.pauseMicroseconds) }, of create: () -> Int32
    ) -> Int32 {
        var result = create()
        while result == EAGAIN {
            pause()
            result = create()
        }
        return result
    }

    /// The pause of 50 ms between two attempts.
    static let pauseMicroseconds: UInt32 = 50_000
}
