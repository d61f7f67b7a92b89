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

// Only what is safe in a signal handler.
static void note(int number, siginfo_t *information, void *context) {
    (void)context;
    // Without a sender it is the kernel's word on what this process did; abort(3) sends to itself.
    if (getpid() == owner && (information->si_code > 0 || information->si_pid == owner)) {
        int64_t words[] = {number, nightshift_boot_nanoseconds()};
        is_noted = 1;
        (void)!pwrite(file, words, sizeof words, file_place);
    }
    for (int index = 0; index < signal_count; index++) {
        if (signals[index] == number) sigaction(number, &before[index], NULL);
    }
    // What the kernel sent comes again with the instruction that caused it; what was sent has to be sent again.
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
