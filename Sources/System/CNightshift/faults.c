#define _GNU_SOURCE
#include "CNightshiftKernel.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
enum { signal_count = sizeof signals / sizeof signals[0] };

static struct sigaction before[signal_count];
static int file = -1;
static off_t file_place;
static pid_t owner;
static volatile sig_atomic_t is_noted;

// This handler makes only async-signal-safe calls.
static void note(int number, siginfo_t *information, void *context) {
    (void)context;
    // A signal without a sender comes from the kernel: this process caused it. abort(3) signals its own process.
    if (getpid() == owner && (information->si_code > 0 || information->si_pid == owner)) {
        int64_t words[] = {number, nightshift_boot_nanoseconds()};
        is_noted = 1;
        (void)!pwrite(file, words, sizeof words, file_place);
    }
    for (int index = 0; index < signal_count; index++) {
        if (signals[index] == number) sigaction(number, &before[index], NULL);
    }
    // The instruction repeats and raises the kernel's signal again. A signal from a process must be sent again.
    if (information->si_code <= 0) raise(number);
}

int nightshift_fault_is_noted(void) { return is_noted; }

void nightshift_note_faults(int descriptor, int64_t place) {
    file = descriptor;
    file_place = (off_t)place;
    owner = getpid();
    struct sigaction action = {0};
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < signal_count; index++) sigaction(signals[index], &action, &before[index]);
}
