// Gives the process of the tests a home of its own before anything has read HOME: cookie stores, configurations and services
// of the person who runs them are neither read nor written. Processes that it starts inherit that home.
//
// It also turns off the backtraces that Swift Testing records for every error that is thrown, whether or not a test fails. No
// output shows them, and they are half of the time of tests in which many errors are thrown.
// SWT_SWIFT_ERROR_BACKTRACING_ENABLED=1 turns them on.
//
// NIGHTSHIFT_TEST_HOME names a home that somebody else has made and removes; scripts/test.sh does.

#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char home[4096];
static pid_t owner;

static int remove_entry(const char *path, const struct stat *information, int kind, struct FTW *place) {
    (void)information, (void)kind, (void)place;
    remove(path);
    return 0;
}

// A forked child that exits does not take the home with it.
static void remove_home(void) {
    if (getpid() == owner) nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

__attribute__((constructor)) static void move_in(void) {
    static const char *const elsewhere[] = {
        "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "NIGHTSHIFT_HOME",
    };
    const char *given = getenv("NIGHTSHIFT_TEST_HOME");
    if (!given) {
        const char *base = getenv("TMPDIR");
        snprintf(home, sizeof home, "%s/nightshift-home-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(home)) {
            perror("tests: a home could not be made");
            _exit(1);
        }
        owner = getpid();
        atexit(remove_home);
        given = home;
    }
    setenv("SWT_SWIFT_ERROR_BACKTRACING_ENABLED", "0", 0);
    setenv("NIGHTSHIFT_TEST_HOME", given, 1);
    setenv("HOME", given, 1);
    for (size_t index = 0; index < sizeof elsewhere / sizeof *elsewhere; index++) unsetenv(elsewhere[index]);
}
