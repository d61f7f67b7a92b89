import Glibc
package import PushRouting

/// Reads the machine's clocks.
package enum GatewayClock {
    package static func now() -> Moment {
        Moment(bootSeconds: seconds(CLOCK_BOOTTIME), wallMilliseconds: Int64(seconds(CLOCK_REALTIME) * 1_000))
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        // Fails only for clocks that there are not.
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
