import Foundation
import TestSupport

/// A machine that, to a service started under ``command``, seems to sleep for nineteen of twenty seconds. The clock
/// that includes sleep (CLOCK_BOOTTIME) runs at twenty times its speed, and so do timers on that clock. Clocks that
/// exclude sleep run as usual. Schedules on the first clock, such as location queries, are therefore twenty times
/// faster. The time limits of apps use the second kind of clock and do not change.
final class SleepingMachine: Sendable {
    /// The command prefix for the service's program. Services under the same command see the same clock.
    let command: [String]
    private let library: PreloadedLibrary

    static let speed = 20

    init() async throws {
        library = try await PreloadedLibrary(Self.clock)
        command = library.command + ["BOOT_CLOCK_BASE=\(Machine.bootSeconds)", "BOOT_CLOCK_SPEED=\(Self.speed)"]
    }

    /// The C source of the clocks and timers. The thread that queries the location sources waits in poll(2).
    private static let clock = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <poll.h>
        #include <pthread.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/timerfd.h>
        #include <time.h>
        enum { most = 65536 };
        static char is_boot_timer[most];
        static double base, speed = 1;
        __attribute__((constructor)) static void begin(void) {
            if (getenv("BOOT_CLOCK_BASE")) base = atof(getenv("BOOT_CLOCK_BASE"));
            if (getenv("BOOT_CLOCK_SPEED")) speed = atof(getenv("BOOT_CLOCK_SPEED"));
        }
        static double seconds(const struct timespec *time) { return time->tv_sec + time->tv_nsec / 1e9; }
        static struct timespec time_of(double seconds) {
            struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
            return time;
        }
        int clock_gettime(clockid_t clock, struct timespec *time) {
            static int (*real)(clockid_t, struct timespec *);
            if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
            int result = real(clock, time);
            if (result == 0 && clock == CLOCK_BOOTTIME) *time = time_of(base + (seconds(time) - base) * speed);
            return result;
        }
        int timerfd_create(int clock, int flags) {
            int (*real)(int, int) = dlsym(RTLD_NEXT, "timerfd_create");
            int descriptor = real(clock, flags);
            if (descriptor >= 0 && descriptor < most) is_boot_timer[descriptor] = clock == CLOCK_BOOTTIME;
            return descriptor;
        }
        int timerfd_settime(int descriptor, int flags, const struct itimerspec *new, struct itimerspec *old) {
            int (*real)(int, int, const struct itimerspec *, struct itimerspec *) = dlsym(RTLD_NEXT, "timerfd_settime");
            struct itimerspec value = *new;
            double moment = seconds(&new->it_value);
            if (descriptor >= 0 && descriptor < most && is_boot_timer[descriptor] && moment > 0) {
                moment = flags & TFD_TIMER_ABSTIME ? base + (moment - base) / speed : moment / speed;
                value.it_value = time_of(moment > 1e-9 ? moment : 1e-9);
            }
            return real(descriptor, flags, &value, old);
        }
        int poll(struct pollfd *polled, nfds_t count, int milliseconds) {
            int (*real)(struct pollfd *, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
            char name[16] = "";
            pthread_getname_np(pthread_self(), name, sizeof name);
            if (milliseconds > 0 && !strcmp(name, "location")) milliseconds = (int)(milliseconds / speed) + 1;
            return real(polled, count, milliseconds);
        }
        """
}
