import Glibc

/// Starts threads, also where there is no room for one more at first.
enum ThreadStart {
    /// Tries again as long as a limit has no room for another thread (`EAGAIN`, pthread_create(3)).
    ///
    /// Such a limit counts the threads of all programs of the user, and others end. Whoever has asked waits: the alternative is the
    /// end of the process, with everything that runs in it.
    ///
    /// - Parameters:
    ///   - pause: what passes the time between two attempts.
    ///   - create: makes the thread, and returns as pthread_create does.
    /// - Returns: 0, or another reason why there is none.
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

    /// 50 ms.
    static let pauseMicroseconds: UInt32 = 50_000
}
