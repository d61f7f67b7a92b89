// The keeper of an app's log: a process that reads what the app writes, and keeps the end of it within bounds.
#ifndef CNIGHTSHIFT_KEEPER_H
#define CNIGHTSHIFT_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

/// What a keeper works with; descriptors stay the caller's.
struct nightshift_keeper {
    /// The reading end of the FIFO that the app writes to.
    int input;
    /// Locked for as long as a keeper works: one at a time reads a FIFO.
    int lock;
    /// The absolute path of the log. Behind it with `.1` is the older half.
    const char *log;
    /// Bytes that each half may have.
    int64_t limit;
};

/// Starts a keeper, which ends when nobody can write to the FIFO any more, or at once where another one works already.
///
/// A fork that is nobody's child and keeps no descriptor but these. Returns 0 or an error number.
int nightshift_keeper_start(const struct nightshift_keeper *keeper, pid_t *process);

/// The process that holds the lock of a keeper: 0 where nobody does, -1 with errno set.
pid_t nightshift_keeper_of(int lock);

/// Gives back, in a fork that never executes another program, what the program it is a fork of has allocated.
///
/// Without it the fork would hold on to everything as it was at that time. Nothing may be allocated from then on.
void nightshift_drop_memory(void);

#endif
