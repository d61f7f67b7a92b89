import Glibc

/// Returns the processor time that `body` uses on this thread. Time in which other threads have the processor does not
/// count, so a busy machine does not change the result.
package func processorTime(of body: () throws -> Void) rethrows -> Duration {
    func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    let start = now()
    try body()
    return now() - start
}
